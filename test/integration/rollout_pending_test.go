package integration

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// kept are the reasons why a pod is not changed: app-1 of a fleet, whose canary app-0
// does not succeed.
var kept = map[string]func(*fleet){
	"the exporter is suspended": func(f *fleet) {
		change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true })
	},
	"the pod waits for a slot": func(f *fleet) {
		f.jvm(f.pods[0]).Fault = fault(v1alpha1.ReasonAttachTimeout)
		f.configure(changed)
	},
}

// A pod that waits for a slot keeps its endpoint when another of its containers starts: the
// container is inspected, and nothing is loaded until the rollout grants a slot.
func TestKeptPodStays(t *testing.T) {
	t.Parallel()
	for name, keep := range kept {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := aFleetWith(t, "proxy")
			keep(f)
			f.o.settle()
			s.verbs()
			f.setContainer(s.pod, running("proxy"))
			f.containers.Start(s.pod.UID, "proxy", aJVM(javaStartTime+3))
			for range 3 {
				if _, err := f.o.round(); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.attachment(s.pod); got.Status.Phase != v1alpha1.PhaseJavaFound || !meta.IsStatusConditionFalse(got.Status.Conditions, v1alpha1.ConditionReady) {
				t.Errorf("phase of %s: got %q, want JavaFound and not Ready", s.pod.Name, phaseOf(got))
			}
			if got := s.verbs(); got != "inspect" || f.portsOf(s.pod) != "9400" || f.annotations(s.pod)["prometheus.io/port"] != "9400" {
				t.Errorf("got helper operations %q and ports %q, want an inspect and 9400", got, f.portsOf(s.pod))
			}
			f.jvm(f.pods[0]).Fault = nil
			change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = false })
			f.later(time.Minute)
			f.o.settle()
			f.later(5 * time.Second)
			f.expect("the rollout is complete", isAnnotated, isAnnotated)
			if got := f.portsOf(s.pod); got != "9400 9404" {
				t.Errorf("ports of %s in EndpointSlices: got %q, want %q", s.pod.Name, got, "9400 9404")
			}
		})
	}
}
