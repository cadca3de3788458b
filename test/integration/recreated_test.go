package integration

import (
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// An exporter that is deleted and made again under its name, while its pods are
// detached: what the old one had granted is not granted by the new one, whose canary
// goes first.
func TestExporterRecreated(t *testing.T) {
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
			t.Fatalf("%s is not being detached: %+v", pod.Name, a)
		}
	}
	before := f.exporter
	f.exporter = f.anExporter(before.Name)
	f.exporter.Spec = *before.Spec.DeepCopy()
	f.exporter.Spec.Rollout.Canary.Count = new(int32(1))
	create(t, f.exporter)
	f.garbageCollect()
	f.expect("made again", isAnnotated, isPending, isPending)
	f.expectSums("made again", "1/1/3, Ready False Progressing, Stalled False Reconciled")
	f.later(time.Minute)
	f.expect("when the canary is proven", isAnnotated, isAnnotated, isAnnotated)
	f.expectSums("in the end", "3/3/3, Ready True AllAnnotated, Stalled False Reconciled")
}
