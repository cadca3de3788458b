package steps

import (
	"fmt"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// What became of a process whose endpoint does not answer.
func TestExamine(t *testing.T) {
	for name, tc := range map[string]struct {
		status, probe func() (*helperapi.Report, error)
		adopted       bool
		want          Finding
	}{
		"it is gone":                         {status: says(v1alpha1.ReasonProcessGone), want: FindingGone},
		"its agent serves":                   {status: sees(helperapi.Process{Mark: isRunning}), want: FindingServing},
		"its agent does not answer":          {status: says(v1alpha1.ReasonEndpointNotServing), want: FindingSilent},
		"its agent is stopped":               {status: sees(helperapi.Process{Mark: isStopped}), want: FindingStopped},
		"its agent is stopped, the jar open": {status: sees(helperapi.Process{Mark: isStopped, AgentJarOpen: true}), want: FindingStopped},
		"no agent is in it":                  {status: sees(helperapi.Process{}), want: FindingStopped},
		"one is, with a mark not readable":   {status: sees(helperapi.Process{AgentJarOpen: true}), want: FindingUnclear},
		"another's jar is in it":             {status: says(v1alpha1.ReasonForeignJar), want: FindingStopped},
		"the exec fails":                     {status: says(v1alpha1.ReasonExecFailed), want: FindingUnclear},
		"there is no room for an exec":       {status: says(v1alpha1.ReasonQueued), want: FindingUnclear},
		"the container is gone":              {status: says(v1alpha1.ReasonPodGone), want: FindingUnclear},
		"nothing is reported":                {status: sees(), want: FindingUnclear},
		"adopted, it is gone":                {status: says(v1alpha1.ReasonProcessGone), adopted: true, want: FindingGone},
		"adopted, it answers in the pod":     {status: sees(helperapi.Process{}), probe: sees(), adopted: true, want: FindingServing},
		"adopted, it does not":               {status: sees(helperapi.Process{}), probe: says(v1alpha1.ReasonEndpointNotServing), adopted: true, want: FindingSilent},
		"adopted, nobody can ask":            {status: sees(helperapi.Process{}), probe: says(v1alpha1.ReasonExecFailed), adopted: true, want: FindingUnclear},
	} {
		p := aProcess("app", 9400)
		p.Adopted = tc.adopted
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){"app status": tc.status, "app probe": tc.probe}}
		s := aScope(p)
		s.Helper = helper
		if got := s.Examine(t.Context(), &p, 0); got != tc.want {
			t.Errorf("%s: it is %s, want %s", name, got, tc.want)
		}
	}
}

// Where the record does not know, the agents in a pod are looked for; what cannot
// be inspected for good never had one, what cannot this time is an error.
func TestFindAgents(t *testing.T) {
	ours := helperapi.Process{Target: aTarget, Mark: isRunning, AgentJarOpen: true}
	for name, tc := range map[string]struct {
		app, worker func() (*helperapi.Report, error)
		record      []v1alpha1.JavaProcess
		want        string
		fails       bool
	}{
		"none":                     {app: sees(helperapi.Process{Target: aTarget}), worker: sees()},
		"one":                      {app: sees(ours), worker: sees(), want: "app 7 9400"},
		"one that is on record":    {app: sees(ours), worker: sees(), record: []v1alpha1.JavaProcess{aProcess("app", 9401)}, want: "app 7 9401"},
		"one that is stopped":      {app: sees(helperapi.Process{Target: aTarget, Mark: isStopped, AgentJarOpen: true}), worker: sees()},
		"one whose mark is unread": {app: sees(helperapi.Process{Target: aTarget, AgentJarOpen: true}), worker: sees(), want: "app 7 0"},
		"one beside no shell":      {app: says(v1alpha1.ReasonNoShell), worker: sees(ours), want: "worker 7 9400"},
		"one beside what fails":    {app: says(v1alpha1.ReasonExecFailed), worker: sees(ours), want: "worker 7 9400", fails: true},
	} {
		s := aScope(tc.record...)
		s.runs("app")
		s.runs("worker")
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"app inspect": tc.app, "worker inspect": tc.worker}}
		err := s.FindAgents(t.Context())
		var got []string
		for _, p := range s.Filter(MayHaveAgent) {
			got = append(got, fmt.Sprintf("%s %d %d", p.Container, p.PID, p.Port))
		}
		if joined := strings.Join(got, ", "); joined != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: %q, error %v", name, joined, err)
		}
	}
}
