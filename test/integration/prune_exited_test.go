package integration

import (
	"maps"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A pod has a serving JVM, and a container that cannot be inspected: when the
// JVM's container ends, its endpoint and annotations are removed nevertheless.
func TestPrunedBesideAFailure(t *testing.T) {
	t.Parallel()
	ways := maps.Clone(kept)
	ways["failing"] = func(*fleet) {}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := aFleetWith(t, "worker", aJVM(javaStartTime+1))
			failing := fault(v1alpha1.ReasonExecFailed)
			f.setContainer(s.pod, running("worker"))
			f.containers.Start(s.pod.UID, "worker", aJVM(javaStartTime+2)).Fault = failing
			f.container(s.pod).Fault = failing
			rounds := func() {
				for range 5 {
					_, _ = f.o.round()
				}
			}
			rounds()
			if got := phaseOf(s.attachment(s.pod)); got != isAnnotated || f.portsOf(s.pod) != "9400" || f.annotations(s.pod)["prometheus.io/port"] != "9400" {
				t.Fatalf("got phase %q and ports %q, want Annotated on port 9400", got, f.portsOf(s.pod))
			}
			way(f)
			rounds()
			if got := s.attachment(s.pod); phaseOf(got) != isAnnotated || f.portsOf(s.pod) != "9400" || f.annotations(s.pod)["prometheus.io/port"] != "9400" {
				t.Fatalf("got phase %q and ports %q, want Annotated on port 9400", phaseOf(got), f.portsOf(s.pod))
			}
			f.setContainer(s.pod, crashing("app"))
			rounds()
			if got := f.portsOf(s.pod); got != "" {
				t.Errorf("ports of %s in EndpointSlices: got %q, want none", s.pod.Name, got)
			}
			if left := f.annotations(s.pod); len(left) > 0 {
				t.Errorf("annotations of %s: got %v, want none", s.pod.Name, left)
			}
			if got := s.attachment(s.pod).Status.Processes; len(got) > 0 {
				t.Errorf("processes in the status: got %+v, want none", got)
			}
			if get(t, s.exporter); s.exporter.Status.Halt != nil {
				t.Errorf("got halt %+v, want none", s.exporter.Status.Halt)
			}
		})
	}
}
