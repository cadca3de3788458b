package steps

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A pod that waits for a slot is kept as it is: when one of its containers is inspected again,
// for example after a JVM exited, new rules exclude no serving process, and stop no agent.
// When the pod has a slot, they do.
func TestRulesAwaitTheRollout(t *testing.T) {
	stock := with(serving("app", 9400), func(p *v1alpha1.JavaProcess) { p.Adopted, p.Intent, p.Staged = true, nil, nil })
	for name, tc := range map[string]struct {
		record v1alpha1.JavaProcess
		found  helperapi.Process
	}{
		"the process has the operator's agent": {serving("app", 9400), helperapi.Process{Mark: isRunning, AgentJarOpen: true}},
		"the process has the stock exporter":   {stock, helperapi.Process{Exporter: &helperapi.Exporter{}}},
	} {
		s := aSituation(tc.record).published().inspectedWell()
		s.Exporter.Spec.Processes = []v1alpha1.ProcessRule{{Action: "Exclude", MainClass: ".*"}}
		tc.found.Target, tc.found.Excluded = aTarget, true
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"app inspect": sees(tc.found)}}
		s.Granted = false
		s.InspectAgain("app")
		FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
		if p := s.Status().Processes[0]; p.Excluded || p.Port != 9400 || p.Phase != v1alpha1.PhaseExposed {
			t.Errorf("%s: the process changed while the pod waits: %+v", name, p)
		}
		if s.Granted = true; !s.inspectionDue() {
			t.Errorf("%s: the pod has a slot, and is not due for an inspection", name)
		}
		FindJava{s.Tools}.Ensure(t.Context(), s.Situation)
		if p := s.Status().Processes[0]; !p.Excluded {
			t.Errorf("%s: the pod has a slot, and the process is not excluded", name)
		}
	}
}
