package steps

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A phase that nothing was tried for is no failure, also when it is read back.
func TestPodStateBeforeATry(t *testing.T) {
	s := aScope()
	for range 2 { // as stated first, and as read back from the record
		s.State(PodState(s.Status()), s.Now.Time)
	}
	if got := PodState(s.Status()); got.Reason != "" {
		t.Errorf("the state has the reason %s", got.Reason)
	}
	for _, c := range s.Status().Conditions {
		if c.Reason == v1alpha1.ReasonNotReached && c.Type != v1alpha1.ConditionReady && c.Status != metav1.ConditionUnknown {
			t.Errorf("%s is %s without a try", c.Type, c.Status)
		}
	}
}
