package steps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

var app = pod.Container{Name: "app", ID: "containerd://app"}

// foundAs returns a process of a name as an inspection finds it: excluded, refuses,
// starting, stopped, stock, or the port of the operator's agent in it.
func foundAs(t *testing.T, name, how string) helperapi.Process {
	t.Helper()
	p := helperapi.Process{Target: helperapi.Target{PID: int(name[0]), StartTime: 11}, MainClass: name}
	serves := func(port int32) { p.Mark = &helperapi.Mark{State: helperapi.AgentRunning, Port: port} }
	switch how {
	case "":
	case "excluded":
		p.Excluded = true
	case "excluded, refuses":
		p.Excluded, p.Refusal = true, &helperapi.Error{Reason: helperapi.ReasonAttachDisabled}
	case "refuses":
		p.Refusal = &helperapi.Error{Reason: helperapi.ReasonAttachDisabled}
	case "starting":
		p.Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting}
	case "stopped":
		p.Mark = &helperapi.Mark{State: helperapi.AgentStopped, Port: 9400}
	case "unread":
		p.AgentJarOpen = true
	case "stock":
		p.Exporter = &helperapi.Exporter{Port: 9999}
	case "stock, not serving":
		p.Exporter = &helperapi.Exporter{}
	case "stock and ours":
		p.Exporter = &helperapi.Exporter{Port: 9999}
		serves(9400)
	default:
		var port int32
		if _, err := fmt.Sscan(how, &port); err != nil {
			t.Fatal(err)
		}
		serves(port)
	}
	return p
}

// The processes of a container as the inspection finds them, in their order.
func TestMerge(t *testing.T) {
	for name, tc := range map[string]struct {
		found []string // state of each process, the first of which is a
		port  int32
		want  string // name, port and further properties of each
	}{
		"no process serves":                                         {found: []string{"", ""}, port: 9400, want: "a primary, b"},
		"one process serves the port":                               {found: []string{"", "9400"}, port: 9400, want: "b 9400 primary, a"},
		"one process serves another port":                           {found: []string{"9404", ""}, port: 9400, want: "b primary, a 9404"},
		"two processes serve":                                       {found: []string{"9404", "9400", ""}, port: 9400, want: "b 9400 primary, a 9404, c"},
		"an agent was stopped":                                      {found: []string{"", "stopped"}, port: 9400, want: "a primary, b"},
		"no port is set":                                            {found: []string{"9404", ""}, want: "b primary, a 9404"},
		"one process refuses":                                       {found: []string{"refuses", ""}, port: 9400, want: "b primary, a AttachDisabled"},
		"one process is starting":                                   {found: []string{"starting", ""}, port: 9400, want: "a primary JVMStarting, b"},
		"one process is excluded":                                   {found: []string{"excluded", "refuses", ""}, port: 9400, want: "c primary, b AttachDisabled, a excluded"},
		"one process has the stock exporter":                        {found: []string{"stock", ""}, port: 9400, want: "b primary, a 9999 adopted"},
		"the stock exporter does not serve":                         {found: []string{"stock, not serving"}, port: 9400, want: "a adopted StockExporterNotServing"},
		"a process has the stock exporter and the operator's agent": {found: []string{"", "stock and ours"}, port: 9400, want: "b 9400 primary, a"},
		"an excluded process refuses, too":                          {found: []string{"excluded, refuses"}, port: 9400, want: "a excluded"},
		"the container has more processes than a status holds":      {found: make([]string, 70), port: 9400, want: "64"},
	} {
		s := aSituation()
		s.runs("app")
		s.inspectedWell()
		s.Exporter.Spec.Port = tc.port
		var found []helperapi.Process
		for i, how := range tc.found {
			found = append(found, foundAs(t, string(rune('a'+i)), how))
		}
		s.merge(app, found)
		s.choosePrimary()
		var got []string
		for _, p := range s.Status().Processes {
			got = append(got, describeProcess(p))
		}
		if joined := strings.Join(got, ", "); joined != tc.want && fmt.Sprint(len(got)) != tc.want {
			t.Errorf("%s: %q, want %q", name, joined, tc.want)
		}
	}
}

func describeProcess(p v1alpha1.JavaProcess) string {
	words := []string{p.MainClass}
	if p.Port != 0 {
		words = append(words, fmt.Sprint(p.Port))
	}
	for word, is := range map[string]bool{"primary": p.Primary, "adopted": p.Adopted, "excluded": p.Excluded} {
		if is {
			words = append(words, word)
		}
	}
	return strings.TrimSpace(strings.Join(append(words, p.Reason), " "))
}

// The recorded state of a process is kept for that process only.
func TestMergeKeepsTheRecord(t *testing.T) {
	known := with(serving("app", 9400), func(p *v1alpha1.JavaProcess) {
		p.AgentVersion, p.Identity = "1.0.0", "0a1b"
	})
	fails := with(known, func(p *v1alpha1.JavaProcess) {
		p.Phase, p.Reason, p.Attempt = v1alpha1.PhaseStaged, v1alpha1.ReasonPortInUse, &v1alpha1.Attempt{Phase: v1alpha1.PhaseLoaded, Count: 3}
	})
	bare := aProcess("app", 0)
	keep := func(p *v1alpha1.JavaProcess) { *p = known }
	same := helperapi.Process{Target: aTarget}
	for name, tc := range map[string]struct {
		record  v1alpha1.JavaProcess
		found   func(*helperapi.Process)
		pending bool // nothing is granted, and its endpoints are published
		want    func(*v1alpha1.JavaProcess)
	}{
		"the process is unchanged":                                   {record: known, found: func(*helperapi.Process) {}, want: keep},
		"the process is unchanged, and not granted":                  {record: known, found: func(*helperapi.Process) {}, pending: true, want: keep},
		"the process is unchanged, and failed before":                {record: fails, found: func(*helperapi.Process) {}, want: func(p *v1alpha1.JavaProcess) { *p = fails }},
		"the process has another start time":                         {record: known, found: func(p *helperapi.Process) { p.StartTime++ }, want: func(p *v1alpha1.JavaProcess) { p.StartTime++ }},
		"the process has another PID":                                {record: known, found: func(p *helperapi.Process) { p.PID++ }, want: func(p *v1alpha1.JavaProcess) { p.PID++ }},
		"the process has another version":                            {record: known, found: func(p *helperapi.Process) { p.Version = "21" }, want: func(p *v1alpha1.JavaProcess) { *p = known; p.Version = "21" }},
		"the process is excluded, with an agent to stop":             {record: known, found: func(p *helperapi.Process) { p.Excluded = true }, want: func(p *v1alpha1.JavaProcess) { *p = known; excluded(p) }},
		"the process is no longer excluded":                          {record: with(bare, excluded), found: func(*helperapi.Process) {}, want: func(*v1alpha1.JavaProcess) {}},
		"the process is no longer excluded, and that is not granted": {record: with(bare, excluded), found: func(*helperapi.Process) {}, pending: true, want: excluded},
		"the stock exporter started in the process": {
			record: known, found: func(p *helperapi.Process) { p.Exporter = &helperapi.Exporter{Port: 9999} },
			want: func(p *v1alpha1.JavaProcess) { p.Adopted, p.Port = true, 9999 },
		},
	} {
		s := aSituation(tc.record)
		if tc.pending {
			s.Granted, s.Published = false, []PublishedEndpoint{{anAddress, 9400, false}}
		}
		p, want := same, bare
		tc.found(&p)
		tc.want(&want)
		s.merge(app, []helperapi.Process{p})
		if diff := cmp.Diff([]v1alpha1.JavaProcess{want}, s.Status().Processes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s := aSituation(known, serving("worker", 9404))
	s.merge(app, nil)
	if diff := cmp.Diff([]v1alpha1.JavaProcess{serving("worker", 9404)}, s.Status().Processes); diff != "" {
		t.Errorf("only processes of the inspected container are dropped (-want +got):\n%s", diff)
	}
}

// A process has the operator's agent if it has a mark, or has the jar open without one.
func TestAssessFindsAgents(t *testing.T) {
	for how, want := range map[string]bool{"": false, "9400": true, "stopped": false, "unread": true, "excluded": false, "stock": false} {
		p := aProcess("app", 0)
		aSituation().assess(&p, foundAs(t, "a", how))
		if p.AgentFound != want {
			t.Errorf("%q: AgentFound: got %t, want %t", how, p.AgentFound, want)
		}
	}
}

// A process regresses to Discovered if it can no longer be attached to, and keeps its phase
// otherwise.
func TestAssessPhase(t *testing.T) {
	for name, tc := range map[string]struct {
		record v1alpha1.JavaProcess
		found  string
		want   string
	}{
		"the process has started":                          {failing("app", v1alpha1.PhaseDiscovered, v1alpha1.ReasonJVMStarting), "", "JavaFound "},
		"the process is starting":                          {failing("app", v1alpha1.PhaseDiscovered, v1alpha1.ReasonJVMStarting), "starting", "Discovered JVMStarting"},
		"the process refuses now":                          {aProcess("app", 0), "refuses", "Discovered AttachDisabled"},
		"the process is in a later phase":                  {failing("app", v1alpha1.PhaseStaged, v1alpha1.ReasonPortInUse), "", "Staged PortInUse"},
		"the process is in a later phase, and refuses now": {failing("app", v1alpha1.PhaseStaged, v1alpha1.ReasonPortInUse), "refuses", "Discovered AttachDisabled"},
	} {
		s, p := aSituation(), tc.record
		if p.Reason == v1alpha1.ReasonJVMStarting {
			p.Attempt = &v1alpha1.Attempt{Key: s.Key(), Phase: v1alpha1.PhaseJavaFound, Count: 1}
		}
		s.assess(&p, foundAs(t, "a", tc.found))
		if got := string(p.Phase) + " " + p.Reason; got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
