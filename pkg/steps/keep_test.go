package steps

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A pod that waits for its turn is kept as it is: when a container of it is inspected
// again, as after a JVM in it ended, new rules leave out none that serves, and none of
// the agents is stopped. When the turn comes, they do.
func TestRulesAwaitTheRollout(t *testing.T) {
	stock := with(serving("app", 9400), func(p *v1alpha1.JavaProcess) { p.Adopted, p.Intent, p.Staged = true, nil, nil })
	for name, tc := range map[string]struct {
		record v1alpha1.JavaProcess
		found  helperapi.Process
	}{
		"our agent":          {serving("app", 9400), helperapi.Process{Mark: isRunning, AgentJarOpen: true}},
		"the stock exporter": {stock, helperapi.Process{Exporter: &helperapi.Exporter{}}},
	} {
		s := aScope(tc.record).published().inspectedWell()
		s.Exporter.Spec.Processes = []v1alpha1.ProcessRule{{Action: "Exclude", MainClass: ".*"}}
		tc.found.Target, tc.found.Excluded = aTarget, true
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"app inspect": sees(tc.found)}}
		s.Granted = false
		s.InspectAgain("app")
		FindJava{}.Ensure(t.Context(), s)
		if p := s.Status().Processes[0]; p.Excluded || p.Port != 9400 || p.Phase != v1alpha1.PhaseExposed {
			t.Errorf("%s: while the pod waits, it is %+v", name, p)
		}
		if s.Granted = true; !Due(s) {
			t.Errorf("%s: when the turn of the pod comes, it is not inspected again", name)
		}
		FindJava{}.Ensure(t.Context(), s)
		if p := s.Status().Processes[0]; !p.Excluded {
			t.Errorf("%s: when the turn of the pod has come, it is not left out", name)
		}
	}
}
