package exporter

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The conditions of the records are summed up while there are any, and neither they nor
// their reasons stop anything.
func TestNotices(t *testing.T) {
	f := &fleet{exporter: &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{Name: "exporter"}}}
	f.exporter.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionScrapeExpensive, Status: metav1.ConditionTrue}}
	for i := range 5 {
		m := member{pod: &corev1.Pod{}, attachment: &v1alpha1.JmxAttachment{}}
		m.pod.Name = fmt.Sprintf("app-%d", i)
		m.attachment.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionScrapeIncomplete, Status: metav1.ConditionTrue, Reason: "InvalidValue"},
		}
		f.members = append(f.members, m)
	}
	meta.RemoveStatusCondition(&f.members[1].attachment.Status.Conditions, v1alpha1.ConditionScrapeIncomplete)
	f.members = append(f.members, member{pod: &corev1.Pod{}})
	got := sum{fleet: f}.status().Conditions
	meta.RemoveStatusCondition(&got, v1alpha1.ConditionReady)
	want := []metav1.Condition{
		condition(v1alpha1.ConditionReconciling, true, v1alpha1.ReasonProgressing, "0 of 6 matched pods are Annotated. 6 pods are pending or updating."),
		condition(v1alpha1.ConditionStalled, false, v1alpha1.ReasonReconciled, "No manual action is required."),
		condition(v1alpha1.ConditionConfigValid, true, v1alpha1.ReasonValid, "The configuration was read and accepted."),
		condition(v1alpha1.ConditionScrapeIncomplete, true, v1alpha1.ReasonPodsIncomplete,
			"The scrapes of 4 of 6 pods are incomplete: app-0: InvalidValue; app-2: InvalidValue; app-3: InvalidValue; and 1 more. Their JmxAttachments say what to do."),
	}
	for i := range got {
		got[i].LastTransitionTime = metav1.Time{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for reason := range map[string]bool{v1alpha1.ReasonInvalidValue: true, v1alpha1.ReasonCPU: true} {
		if halts(f.members[0].attachment, reason) {
			t.Errorf("%s halts a rollout", reason)
		}
	}
}
