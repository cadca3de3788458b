package steps

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The state of a process whose endpoint does not answer.
func TestExamine(t *testing.T) {
	for name, tc := range map[string]struct {
		status, probe func() (*helperapi.Report, error)
		adopted       bool
		want          Finding
	}{
		"the process is gone":                       {status: says(v1alpha1.ReasonProcessGone), want: FindingGone},
		"the agent serves":                          {status: sees(helperapi.Process{Mark: isRunning}), want: FindingServing},
		"the agent does not answer":                 {status: says(v1alpha1.ReasonEndpointNotServing), want: FindingSilent},
		"the agent is stopped":                      {status: sees(helperapi.Process{Mark: isStopped}), want: FindingStopped},
		"the agent is stopped, and its jar is open": {status: sees(helperapi.Process{Mark: isStopped, AgentJarOpen: true}), want: FindingStopped},
		"there is no agent":                         {status: sees(helperapi.Process{}), want: FindingStopped},
		"the agent has an unreadable mark":          {status: sees(helperapi.Process{AgentJarOpen: true}), want: FindingUnclear},
		"the jar is foreign":                        {status: says(v1alpha1.ReasonForeignJar), want: FindingStopped},
		"the exec fails":                            {status: says(v1alpha1.ReasonExecFailed), want: FindingUnclear},
		"there is no capacity for an exec":          {status: says(v1alpha1.ReasonQueued), want: FindingUnclear},
		"the container is gone":                     {status: says(v1alpha1.ReasonPodGone), want: FindingUnclear},
		"the report is empty":                       {status: sees(), want: FindingUnclear},
		"the adopted process is gone":               {status: says(v1alpha1.ReasonProcessGone), adopted: true, want: FindingGone},
		"the adopted process answers in the pod":    {status: sees(helperapi.Process{}), probe: sees(), adopted: true, want: FindingServing},
		"the adopted process does not answer":       {status: sees(helperapi.Process{}), probe: says(v1alpha1.ReasonEndpointNotServing), adopted: true, want: FindingSilent},
		"the adopted process cannot be probed":      {status: sees(helperapi.Process{}), probe: says(v1alpha1.ReasonExecFailed), adopted: true, want: FindingUnclear},
	} {
		p := aProcess("app", 9400)
		p.Adopted = tc.adopted
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){"app status": tc.status, "app probe": tc.probe}}
		s := aSituation(p)
		s.Helper = helper
		if got := s.Examine(t.Context(), s.Situation, &p, 0); got != tc.want {
			t.Errorf("%s: Examine: got %s, want %s", name, got, tc.want)
		}
	}
}

// Agents that the status does not record are searched for in a pod; a container that can
// never be inspected has none, and one that fails is an error.
func TestFindAgents(t *testing.T) {
	ours := helperapi.Process{Target: aTarget, Mark: isRunning, AgentJarOpen: true}
	for name, tc := range map[string]struct {
		app, worker func() (*helperapi.Report, error)
		record      []v1alpha1.JavaProcess
		// attached is whether the annotation of the operator is on the pod.
		attached bool
		want     string
		fails    bool
	}{
		"there is no agent":                                    {app: sees(helperapi.Process{Target: aTarget}), worker: sees()},
		"there is an agent":                                    {app: sees(ours), worker: sees(), want: "app 7 9400"},
		"the agent is recorded":                                {app: sees(ours), worker: sees(), record: []v1alpha1.JavaProcess{aProcess("app", 9401)}, want: "app 7 9401"},
		"the agent is stopped":                                 {app: sees(helperapi.Process{Target: aTarget, Mark: isStopped, AgentJarOpen: true}), worker: sees()},
		"the agent has an unreadable mark":                     {app: sees(helperapi.Process{Target: aTarget, AgentJarOpen: true}), worker: sees(), want: "app 7 0"},
		"the other container has no shell":                     {app: says(v1alpha1.ReasonNoShell), worker: sees(ours), want: "worker 7 9400"},
		"the other container fails":                            {app: says(v1alpha1.ReasonExecFailed), worker: sees(ours), want: "worker 7 9400", fails: true},
		"the one that was attached to is not reached any more": {app: says(v1alpha1.ReasonNoShell), worker: sees(), attached: true, fails: true},
		"another one of an attached pod has no shell":          {app: says(v1alpha1.ReasonNoShell), worker: sees(ours), attached: true, want: "worker 7 9400"},
	} {
		s := aSituation(tc.record...)
		if tc.attached {
			s.Pod.Annotations = map[string]string{v1alpha1.AnnotationFlag: s.Attachment.Name}
		}
		s.runs("app")
		s.runs("worker")
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){"app inspect": tc.app, "worker inspect": tc.worker}}
		err := s.FindAgents(t.Context(), s.Situation)
		var got []string
		for _, p := range s.Filter(record.MayHaveAgent) {
			got = append(got, fmt.Sprintf("%s %d %d", p.Container, p.PID, p.Port))
		}
		if joined := strings.Join(got, ", "); joined != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: agents: got %q and error %v, want %q", name, joined, err, tc.want)
		}
	}
}

// A collection of the stock exporter is never begun by the helper, either (see pkg/probe).
func TestStockExporterIsNotScraped(t *testing.T) {
	stock := v1alpha1.JavaProcess{Adopted: true, Port: 9400}
	s := aSituation(stock)
	var requested []string
	s.Helper = helperFunc(func(_ context.Context, _ transport.Container, verb helperapi.Verb, request helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
		if verb == helperapi.VerbProbe {
			requested = append(requested, request.Probe.Path)
		}
		return &helperapi.Report{Processes: []helperapi.Process{{}}}, nil
	})
	if found := s.Examine(t.Context(), s.Situation, &stock, 0); found != FindingServing {
		t.Errorf("Examine: got %s", found)
	}
	if diff := cmp.Diff([]string{"/-/healthy"}, requested); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
