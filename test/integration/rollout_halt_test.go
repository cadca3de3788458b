package integration

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The canary rejects the configuration: the rollout is halted until something changes.
func TestConfigRejectedHalts(t *testing.T) {
	t.Parallel()
	resume := map[string]func(*fleet){
		"the ConfigMap changes": func(f *fleet) { f.configure("lowercaseOutputLabelNames: true\n" + rules) },
		"the exporter changes": func(f *fleet) {
			change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
		},
		"the resume annotation is set": func(f *fleet) {
			change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Annotations = map[string]string{v1alpha1.AnnotationResume: "again"}
			})
		},
	}
	for what, resume := range resume {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 3, nil)
			f.o.settle()
			f.later(5 * time.Second)
			f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
			f.later(2 * time.Minute)
			f.jvm(f.pods[0]).Fault = fault(v1alpha1.ReasonConfigRejected)
			f.configure(badPattern)
			f.expect("the canary rejects the configuration", "Staged ConfigRejected", isAnnotated, isAnnotated)
			loaded := meta.FindStatusCondition(f.attachment(f.pods[0]).Status.Conditions, string(v1alpha1.PhaseLoaded))
			if loaded == nil || loaded.Status != metav1.ConditionFalse || loaded.Reason != v1alpha1.ReasonConfigRejected || !strings.Contains(loaded.Message, "The container says ConfigRejected.") {
				t.Errorf("condition Loaded of the canary: got %+v, want ConfigRejected", loaded)
			}
			f.expectSums("the canary rejects the configuration", "1/2/3, Ready False ConfigRejected, Stalled True ConfigRejected")
			halt := f.exporter.Status.Halt
			if halt == nil || halt.Reason != v1alpha1.ReasonConfigRejected || !strings.HasPrefix(halt.Message, "Pod app-0: The container says ConfigRejected.") {
				t.Fatalf("got halt %+v, want ConfigRejected of app-0", halt)
			}
			if events := f.o.events.with(v1alpha1.ReasonConfigRejected); len(events) == 0 || events[len(events)-1].Note != halt.Message {
				t.Errorf("unexpected Events: %v", events)
			}
			late := f.run(aPod("app-9"))
			f.pods = append(f.pods, late)
			f.o.settle()
			f.o.did()
			for range 3 {
				f.later(24 * time.Hour)
				f.o.settle()
			}
			if did := f.o.did(); len(did) > 0 {
				t.Errorf("effects during the halt: got %q, want none", did)
			}
			f.expect("a pod is created during the halt", "Staged ConfigRejected", isAnnotated, isAnnotated, "JavaFound RolloutHalted")
			f.expectAsked("a pod is created during the halt", "2 1 1 0")
			if strings.Count(f.endpoints(f.exporter), ":9400") != 3 {
				t.Errorf("endpoints of the exporter: got %q, want three on port 9400", f.endpoints(f.exporter))
			}

			f.jvm(f.pods[0]).Fault = nil
			resume(f)
			f.o.settle()
			f.later(5 * time.Second)
			f.expect("the rollout is complete", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
			f.expectSums("the rollout is complete", "4/4/4, Ready True AllAnnotated, Stalled False Reconciled")
			if f.exporter.Status.Halt != nil {
				t.Errorf("got halt %+v, want none", f.exporter.Status.Halt)
			}
		})
	}
}
