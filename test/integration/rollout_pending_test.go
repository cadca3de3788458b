package integration

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// kept are the ways in which a pod is kept from what is new: app-1 of a fleet, in
// which app-0 goes first and does not come through.
var kept = map[string]func(*fleet){
	"suspended": func(f *fleet) {
		change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true })
	},
	"waiting": func(f *fleet) {
		f.jvm(f.pods[0]).fault = fault(v1alpha1.ReasonAttachTimeout)
		f.configure(changed)
	},
}

// A pod that waits for the rollout keeps what serves when another of its containers
// starts: that is inspected, and nothing is loaded until the rollout grants it.
func TestKeptPodStays(t *testing.T) {
	for name, keep := range kept {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := aFleetWith(t, "proxy")
			keep(f)
			f.o.settle()
			s.verbs()
			f.setContainer(s.pod, running("proxy"))
			f.containers.start(s.pod.UID, "proxy", aJVM(javaStartTime+3))
			for range 3 {
				if _, err := f.o.round(); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.attachment(s.pod); got.Status.Phase != v1alpha1.PhaseJavaFound || !meta.IsStatusConditionFalse(got.Status.Conditions, v1alpha1.ConditionReady) {
				t.Errorf("it is %s", phaseOf(got))
			}
			if got := s.verbs(); got != "inspect" || f.portsOf(s.pod) != "9400" || f.annotations(s.pod)["prometheus.io/port"] != "9400" {
				t.Errorf("run was %q; published is %q", got, f.portsOf(s.pod))
			}
			f.jvm(f.pods[0]).fault = nil
			change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = false })
			f.later(time.Minute)
			f.o.settle()
			f.later(5 * time.Second)
			f.expect("in the end", isAnnotated, isAnnotated)
			if got := f.portsOf(s.pod); got != "9400 9404" {
				t.Errorf("published is %q", got)
			}
		})
	}
}
