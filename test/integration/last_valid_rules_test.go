package integration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// While the process rules cannot be used, a container that restarts gets what its pod had,
// by the rules that selected its JVMs, also from an operator that was started since; new pods
// wait.
func TestLastValidProcessRules(t *testing.T) {
	t.Parallel()
	pod := withWorker()
	pod.jvms["worker"][0].MainClass = "com.example.Worker"
	s, o := longRunning(t, pod, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "com.example.Worker"}}
	})
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Processes = []v1alpha1.ProcessRule{{Action: v1alpha1.RuleExclude, MainClass: "(?!a{2})"}}
	})
	o.settle()
	added := s.run(aPod("app-1"))
	for _, who := range []struct {
		name string
		*operator
	}{{"the same operator", o}, {"another operator", s.operate()}} {
		s.restart(s.pod)
		who.settle()
		if got := phaseOf(s.attachment(s.pod)); got != isAnnotated {
			t.Fatalf("%s: phase of the pod: got %q, want %s", who.name, got, isAnnotated)
		}
		if diff := cmp.Diff([]string{"app 9400", "worker 0 Excluded"}, s.processes()); diff != "" {
			t.Errorf("%s: processes in the status (-want +got):\n%s", who.name, diff)
		}
		s.prove(who.operator)
		if got := phaseOf(s.attachment(added)); got != "Discovered ProcessRulesInvalid" {
			t.Errorf("%s: phase of a new pod: got %q, want Discovered ProcessRulesInvalid", who.name, got)
		}
		get(t, s.exporter)
		if c := meta.FindStatusCondition(s.exporter.Status.Conditions, v1alpha1.ConditionConfigValid); c.Reason != v1alpha1.ReasonProcessRulesInvalid {
			t.Errorf("%s: reason of ConfigValid: got %s, want %s", who.name, c.Reason, v1alpha1.ReasonProcessRulesInvalid)
		}
	}
}
