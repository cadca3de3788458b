package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// An operator that was stopped, and lost its Lease meanwhile, may write one more status when it
// goes on. The leader notices that the status is not its own, and says what is true.
func TestStatusOfDeposedLeader(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: newCluster(t)}
	stop := f.manage()
	defer stop()
	f.pods = []*corev1.Pod{f.run(aPod("app-0"))}
	f.exporter = f.export("exporter")
	says := func(kind string) string {
		get(t, f.exporter)
		if c := meta.FindStatusCondition(f.exporter.Status.Conditions, kind); c != nil {
			return c.Message
		}
		return ""
	}
	eventually(t, func() bool {
		get(t, f.exporter)
		return meta.IsStatusConditionTrue(f.exporter.Status.Conditions, v1alpha1.ConditionReady)
	})
	want := says(v1alpha1.ConditionConfigValid)
	for range 5 { // what led to the exporter before may still restore the first
		before := f.exporter.DeepCopy()
		meta.FindStatusCondition(f.exporter.Status.Conditions, v1alpha1.ConditionConfigValid).Message = "Something could not be deleted."
		f.exporter.Status.Pods = "0/9"
		if err := admin.Status().Patch(t.Context(), f.exporter, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return says(v1alpha1.ConditionConfigValid) == want && f.exporter.Status.Pods == "1/1" })
	}
}
