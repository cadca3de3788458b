package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// An exporter is deleted and recreated under its name while its pods are detaching: grants
// of the old exporter do not count for the new one, whose canary
// goes first.
func TestExporterRecreated(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, func(r *v1alpha1.Rollout) {
		r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
		r.Canary.Count, r.Canary.MinReadySeconds = new(int32(0)), new(int32(60))
	})
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	remove(t, f.exporter)
	if _, err := f.o.round(); err != nil {
		t.Fatal(err)
	}
	for _, pod := range f.pods {
		if a := f.attachment(pod); a == nil || a.Status.DetachStartTime == nil {
			t.Fatalf("%s is not detaching: %+v", pod.Name, a)
		}
	}
	before := f.exporter
	f.exporter = f.anExporter(before.Name)
	f.exporter.Spec = *before.Spec.DeepCopy()
	f.exporter.Spec.Rollout.Canary.Count = new(int32(1))
	create(t, f.exporter)
	f.garbageCollect()
	f.expect("the exporter is recreated", isAnnotated, isPending, isPending)
	f.expectSums("the exporter is recreated", "1/1/3, Ready False Progressing, Stalled False Reconciled")
	f.later(time.Minute)
	f.expect("the canary is proven", isAnnotated, isAnnotated, isAnnotated)
	f.expectSums("the rollout is complete", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")
}
