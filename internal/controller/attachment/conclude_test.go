package attachment

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// A phase that was not tried has not failed, also after its condition is read back.
func TestPodStateBeforeATry(t *testing.T) {
	v := aBench().of(aSituation())
	s := v.Situation
	for range 2 { // as set first, and as read back from the status
		s.State = steps.PodState(s.Status())
		v.setConditions()
	}
	if got := steps.PodState(s.Status()); got.Reason != "" {
		t.Errorf("reason of the state: got %s, want none", got.Reason)
	}
	for _, c := range s.Status().Conditions {
		if c.Reason == v1alpha1.ReasonNotReached && c.Type != v1alpha1.ConditionReady && c.Status != metav1.ConditionUnknown {
			t.Errorf("condition %s is %s without a try, want Unknown", c.Type, c.Status)
		}
	}
}
