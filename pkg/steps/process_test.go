package steps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// aScope has an exporter of port 9400, whose turn has come, and a pod in which the
// containers run that the processes are in.
func aScope(processes ...v1alpha1.JavaProcess) *Scope {
	s := &Scope{
		Attachment: &v1alpha1.JmxAttachment{}, Pod: &corev1.Pod{}, Exporter: &v1alpha1.PrometheusJmxExporter{}, Granted: true,
		Now: metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)),
	}
	s.Exporter.Spec.Port = 9400
	s.Status().Processes = processes
	for _, p := range processes {
		s.runs(p.Container)
	}
	return s
}

func (s *Scope) runs(container string) {
	s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, corev1.Container{Name: container})
	s.Pod.Status.ContainerStatuses = append(s.Pod.Status.ContainerStatuses, corev1.ContainerStatus{
		Name: container, ContainerID: "containerd://" + container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	})
}

// aProcess is the Java process of a container, with the port that it serves.
func aProcess(container string, port int32) v1alpha1.JavaProcess {
	return v1alpha1.JavaProcess{Container: container, ContainerID: "containerd://" + container, PID: 7, StartTime: 11, Port: port}
}

// What becomes of a pod when not all of its processes come through: those that do
// are not kept by those that do not, for good or for long; what halts always tells.
func TestTogether(t *testing.T) {
	const phase = v1alpha1.PhaseLoaded
	cases := map[string]struct {
		trials []string // the reason of each process; done if empty
		tries  int32
		serves bool // all do, the first on the port that is annotated
		want   string
		alone  string // the processes left alone
	}{
		"the only one":                         {trials: []string{""}, want: "Reached"},
		"the only one fails":                   {trials: []string{"PortInUse"}, want: "PortInUse"},
		"the only one fails for long":          {trials: []string{"PortInUse"}, tries: 99, want: "PortInUse"},
		"both":                                 {trials: []string{"", ""}, want: "Reached"},
		"one cannot for good":                  {trials: []string{"", "MissingModule"}, want: "Reached", alone: "b"},
		"the first cannot for good":            {trials: []string{"MissingModule", ""}, want: "Reached", alone: "a"},
		"one fails":                            {trials: []string{"", "PortInUse"}, want: "PortInUse"},
		"one fails for a while":                {trials: []string{"", "PortInUse"}, tries: patience - 1, want: "PortInUse"},
		"one fails for long":                   {trials: []string{"", "PortInUse"}, tries: patience, want: "Reached", alone: "b"},
		"one is awaited for long":              {trials: []string{"JVMStarting", ""}, tries: patience, want: "Reached", alone: "a"},
		"one fails, one cannot":                {trials: []string{"", "MissingModule", "PortInUse"}, want: "PortInUse"},
		"one fails for long, one cannot":       {trials: []string{"", "MissingModule", "PortInUse"}, tries: patience, want: "Reached", alone: "b c"},
		"the first serves, fails for long":     {trials: []string{"PortInUse", ""}, tries: 99, serves: true, want: "PortInUse"},
		"the first serves, and cannot":         {trials: []string{"MissingModule", ""}, serves: true, want: "MissingModule"},
		"another serves, fails for long":       {trials: []string{"", "PortInUse"}, tries: 99, serves: true, want: "Reached", alone: "b"},
		"none can":                             {trials: []string{"MissingModule", "MissingModule"}, want: "MissingModule"},
		"none can, one only for long":          {trials: []string{"MissingModule", "PortInUse"}, tries: patience, want: "PortInUse"},
		"none can, one is awaited":             {trials: []string{"MissingModule", "PortInUse", "Busy"}, tries: patience, want: "Busy"},
		"a configuration is rejected":          {trials: []string{"", "ConfigRejected"}, want: "ConfigRejected"},
		"a configuration is rejected, at last": {trials: []string{"", "ConfigRejected"}, tries: 99, want: "ConfigRejected"},
		"rejected here, impossible there":      {trials: []string{"", "MissingModule", "ConfigRejected"}, want: "ConfigRejected"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var processes []v1alpha1.JavaProcess
			for i := range tc.trials {
				processes = append(processes, aProcess(string(rune('a'+i)), 0))
			}
			s := aScope(processes...)
			if tc.tries > 0 {
				s.Status().Attempt = &v1alpha1.Attempt{Phase: phase, Count: tc.tries}
			}
			var trials []trial
			for i, reason := range tc.trials {
				outcome := Outcome{Kind: Done}
				if reason != "" {
					outcome = NotReached(reason, "No.")
				}
				p := &s.Status().Processes[i]
				if tc.serves {
					p.Endpoint, p.First = &v1alpha1.Endpoint{}, i == 0
				}
				trials = append(trials, trial{p, s.named(p, outcome)})
			}
			got := s.together(phase, trials, func() Outcome { return Reached("It is so.") })
			if got.Reason != tc.want {
				t.Errorf("it comes to %s: %s", got.Reason, got.Message)
			}
			var alone []string
			for _, p := range s.Status().Processes {
				if p.Refusal != "" {
					alone = append(alone, p.Container)
					if want := fmt.Sprintf("Left alone in container %s: %s.", p.Container, p.Refusal); !strings.Contains(got.Message, want) {
						t.Errorf("it says %q, not %q", got.Message, want)
					}
				}
			}
			if strings.Join(alone, " ") != tc.alone {
				t.Errorf("left alone are %q", alone)
			}
			if several := len(tc.trials) > 1; got.Kind != Done && several != strings.HasPrefix(got.Message, "Container ") {
				t.Errorf("it says %q", got.Message)
			}
		})
	}
	s := aScope(aProcess("a", 0), aProcess("b", 0))
	s.Status().Attempt = &v1alpha1.Attempt{Phase: v1alpha1.PhaseStaged, Count: 99}
	if s.tries(phase) != 0 {
		t.Error("tries for another phase count")
	}
}

// The order of the processes decides who gets the exporter's port.
func TestProcessesInOrder(t *testing.T) {
	found := func(name string, how string) attach.Process {
		p := attach.Process{Target: attach.Target{PID: int(name[0]), StartTime: 7}, MainClass: name}
		serves := func(port int32) { p.Mark = &attach.Mark{State: attach.AgentRunning, Port: port} }
		switch how {
		case "":
		case "excluded":
			p.Excluded = true
		case "refuses":
			p.Refusal = &attach.Error{Reason: attach.ReasonAttachDisabled}
		case "stopped":
			p.Mark = &attach.Mark{State: attach.AgentStopped, Port: 9400}
		case "stock":
			p.Exporter = &attach.Exporter{Port: 9999}
		case "stock, not serving":
			p.Exporter = &attach.Exporter{}
		case "stock and ours":
			p.Exporter = &attach.Exporter{Port: 9999}
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
	cases := map[string]struct {
		found []string // how each is, the first of them a
		port  int32
		want  string // name, port and refusal of each
	}{
		"as found":                         {found: []string{"", ""}, port: 9400, want: "a, b"},
		"one serves the port already":      {found: []string{"", "9400"}, port: 9400, want: "b 9400, a"},
		"one serves another":               {found: []string{"9404", ""}, port: 9400, want: "b, a 9404"},
		"both serve":                       {found: []string{"9404", "9400", ""}, port: 9400, want: "b 9400, a 9404, c"},
		"one was stopped there":            {found: []string{"", "stopped"}, port: 9400, want: "a, b"},
		"no port is named":                 {found: []string{"9404", ""}, want: "b, a 9404"},
		"one refuses":                      {found: []string{"refuses", ""}, port: 9400, want: "b, a AttachDisabled"},
		"one is excluded":                  {found: []string{"excluded", "refuses", ""}, port: 9400, want: "c, b AttachDisabled, a Excluded"},
		"the stock exporter":               {found: []string{"stock", ""}, port: 9400, want: "b, a 9999 adopted"},
		"the stock exporter, not serving":  {found: []string{"stock, not serving", ""}, port: 9400, want: "b, a StockExporterNotServing"},
		"the stock exporter, beside ours":  {found: []string{"", "stock and ours"}, port: 9400, want: "b 9400, a"},
		"excluded, whatever else it is":    {found: []string{"excluded"}, port: 9400, want: "a Excluded"},
		"more than a record holds, in all": {found: make([]string, 70), port: 9400, want: "64"},
	}
	for name, tc := range cases {
		s := aScope()
		s.Exporter.Spec.Port = tc.port
		var seen sighting
		for i, how := range tc.found {
			p := found(string(rune('a'+i)), how)
			seen.add(container{"app", "containerd://app"}, p, refusalOf(p))
		}
		var got []string
		processes := seen.processes(s)
		for _, p := range processes {
			line := p.MainClass
			if p.Port != 0 {
				line += fmt.Sprint(" ", p.Port)
			}
			if p.Adopted {
				line += " adopted"
			}
			got = append(got, strings.TrimSpace(line+" "+p.Refusal))
		}
		if joined := strings.Join(got, ", "); joined != tc.want && fmt.Sprint(len(processes)) != tc.want {
			t.Errorf("%s: %q, want %q", name, joined, tc.want)
		}
	}
}

// What the record knows of a process stays with it, and with no other one.
func TestProcessesKeepTheirEntry(t *testing.T) {
	known := aProcess("app", 9404)
	known.Staged, known.Intent = &v1alpha1.StagedFiles{ConfigSHA256: "c"}, &v1alpha1.LoadIntent{Port: 9404}
	known.Endpoint = &v1alpha1.Endpoint{Address: "10.0.0.1", Port: 9404}
	known.ConfigSHA256, known.ImplementationSHA256, known.AgentVersion = "c", "i", "1.0.0"
	known.Refusal = v1alpha1.ReasonPortInUse
	same := attach.Process{Target: attach.Target{PID: 7, StartTime: 11}}
	kept := known
	kept.Refusal = "" // it is tried again
	bare := aProcess("app", 0)
	for name, tc := range map[string]struct {
		change func(*attach.Process)
		want   func(*v1alpha1.JavaProcess)
	}{
		"the same":    {func(*attach.Process) {}, func(p *v1alpha1.JavaProcess) { *p = kept }},
		"another":     {func(p *attach.Process) { p.StartTime++ }, func(p *v1alpha1.JavaProcess) { p.StartTime++; p.First = true }},
		"of that PID": {func(p *attach.Process) { p.PID++ }, func(p *v1alpha1.JavaProcess) { p.PID++; p.First = true }},
		"excluded":    {func(p *attach.Process) { p.Excluded = true }, func(p *v1alpha1.JavaProcess) { p.Refusal = v1alpha1.RefusalExcluded }},
		"with the stock exporter by now": {
			func(p *attach.Process) { p.Exporter = &attach.Exporter{Port: 9999} },
			func(p *v1alpha1.JavaProcess) { p.Adopted, p.Port = true, 9999 },
		},
	} {
		p, want := same, bare
		tc.change(&p)
		tc.want(&want)
		var seen sighting
		seen.add(container{"app", "containerd://app"}, p, refusalOf(p))
		if diff := cmp.Diff([]v1alpha1.JavaProcess{want}, seen.processes(aScope(known))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Which process is the pod's first, and gets the exporter's port: it stays so as
// long as it is there, and one that serves another port does not take its place.
func TestFirst(t *testing.T) {
	cases := map[string]struct {
		record, found []string // name, port if it serves one, and what else is to be said
		noPort        bool
		want          string // the first one and then the others, with what each asks for
	}{
		"nothing is known":             {found: []string{"a", "b"}, want: "a asks for 9400, b for 0"},
		"the first stays":              {record: []string{"a 9400 first", "b 9404"}, found: []string{"b 9404", "a 9400"}, want: "a asks for 9400, b for 0"},
		"whoever serves what":          {record: []string{"a 9404 first", "b 9400"}, found: []string{"a 9404", "b 9400"}, want: "a asks for 9400, b for 0"},
		"the first ends":               {record: []string{"a 9400 first", "b 9404"}, found: []string{"b 9404"}, want: "b asks for 0"},
		"and another comes":            {record: []string{"b 9404"}, found: []string{"b 9404", "c"}, want: "c asks for 9400, b for 0"},
		"both at once":                 {record: []string{"a 9400 first", "b 9404"}, found: []string{"b 9404", "c"}, want: "c asks for 9400, b for 0"},
		"two come":                     {record: []string{"b 9404"}, found: []string{"b 9404", "c", "d"}, want: "c asks for 9400, b for 0, d for 0"},
		"another ends":                 {record: []string{"a 9400 first", "b 9404"}, found: []string{"a 9400"}, want: "a asks for 9400"},
		"another comes":                {record: []string{"a 9400 first"}, found: []string{"c", "a 9400"}, want: "a asks for 9400, c for 0"},
		"the first is excluded":        {record: []string{"a 9400 first", "b 9404"}, found: []string{"a 9400 excluded", "b 9404"}, want: "b asks for 0"},
		"the first was left alone":     {record: []string{"a 0 first refused", "b 9404"}, found: []string{"a", "b 9404"}, want: "a asks for 9400, b for 0"},
		"one that refused is mended":   {record: []string{"a 0 never refused"}, found: []string{"a"}, want: "a asks for 9400"},
		"the first refuses by now":     {record: []string{"a 9400 first"}, found: []string{"a refuses", "c"}, want: "c asks for 9400"},
		"the record was deleted":       {found: []string{"b 9404", "a 9400"}, want: "a asks for 9400, b for 0"},
		"an adopted one is not first":  {found: []string{"a stock", "b"}, want: "b asks for 9400"},
		"not even where it is alone":   {found: []string{"a stock"}},
		"the survivor, and no port is": {record: []string{"b 9404"}, found: []string{"b 9404", "c"}, noPort: true, want: "c asks for 0, b for 0"},
	}
	for name, tc := range cases {
		s := aScope()
		if tc.noPort {
			s.Exporter.Spec.Port = 0
		}
		read := func(words string) (p v1alpha1.JavaProcess, serves int32, how string) {
			fields := strings.Fields(words)
			p = aProcess("app", 0)
			p.PID, p.MainClass = int32(fields[0][0]), fields[0]
			for _, f := range fields[1:] {
				if _, err := fmt.Sscan(f, &serves); err != nil {
					how += f
				}
			}
			return p, serves, how
		}
		for _, words := range tc.record {
			p, serves, how := read(words)
			p.Port, p.First, p.Intent = serves, strings.Contains(how, "first"), &v1alpha1.LoadIntent{}
			if strings.Contains(how, "refused") {
				p.Refusal = v1alpha1.ReasonPortInUse
			}
			if strings.Contains(how, "never") { // attached to
				p.Intent = nil
			}
			s.Status().Processes = append(s.Status().Processes, p)
		}
		var seen sighting
		for _, words := range tc.found {
			p, serves, how := read(words)
			found := attach.Process{Target: attach.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)}, MainClass: p.MainClass, Excluded: how == "excluded"}
			if serves != 0 {
				found.Mark = &attach.Mark{State: attach.AgentRunning, Port: serves}
			}
			if how == "refuses" {
				found.Refusal = &attach.Error{Reason: attach.ReasonAttachDisabled}
			}
			if how == "stock" {
				found.Exporter = &attach.Exporter{Port: 9999}
			}
			seen.add(container{"app", "containerd://app"}, found, refusalOf(found))
		}
		s.Status().Processes = seen.processes(s)
		var got []string
		firsts := 0
		for i, p := range s.toLoad() {
			asks := "for"
			if i == 0 {
				asks = "asks for"
			}
			got = append(got, fmt.Sprintf("%s %s %d", p.MainClass, asks, s.port(p)))
		}
		for _, p := range s.Status().Processes {
			if p.First {
				firsts++
			}
		}
		if joined := strings.Join(got, ", "); joined != tc.want || firsts > 1 {
			t.Errorf("%s: %q, want %q; %d are first", name, joined, tc.want, firsts)
		}
	}
}

// Which processes are unloaded: those with an agent of ours that are not chosen
// any more, and still run.
func TestUnwanted(t *testing.T) {
	ours := aProcess("app", 9400)
	ours.Intent = &v1alpha1.LoadIntent{Port: 9400}
	serving := &attach.Mark{State: attach.AgentRunning, Port: 9400}
	at := attach.Target{PID: 7, StartTime: 11}
	for name, tc := range map[string]struct {
		found  []attach.Process // in the container app
		record []v1alpha1.JavaProcess
		stands bool // the container does
		// unseen tells that the container could not be looked into, refuses that
		// another process in it could not be attached to.
		unseen, refuses bool
		want            int
	}{
		"it is chosen":                     {found: []attach.Process{{Target: at, Mark: serving}}, record: []v1alpha1.JavaProcess{ours}},
		"it is excluded":                   {found: []attach.Process{{Target: at, Mark: serving, Excluded: true}}, record: []v1alpha1.JavaProcess{ours}, want: 1},
		"it is excluded, and unknown":      {found: []attach.Process{{Target: at, Mark: serving, Excluded: true}}, want: 1},
		"excluded, without an agent":       {found: []attach.Process{{Target: at, Excluded: true}}},
		"excluded, its agent is stopped":   {found: []attach.Process{{Target: at, Mark: &attach.Mark{State: attach.AgentStopped}, Excluded: true}}},
		"excluded, its mark is unreadable": {found: []attach.Process{{Target: at, AgentJarOpen: true, Excluded: true}}, want: 1},
		"excluded, only the record knows":  {found: []attach.Process{{Target: at, Excluded: true}}, record: []v1alpha1.JavaProcess{ours}, want: 1},
		"excluded, another is on record":   {found: []attach.Process{{Target: attach.Target{PID: 7, StartTime: 12}, Excluded: true}}, record: []v1alpha1.JavaProcess{aProcess("app", 0)}},
		"its container cannot be seen":     {record: []v1alpha1.JavaProcess{ours}, unseen: true},
		"one process in it cannot be":      {record: []v1alpha1.JavaProcess{ours}, refuses: true, want: 1},
		"its container is not looked into": {record: []v1alpha1.JavaProcess{ours}, want: 1},
		"its container does not run":       {record: []v1alpha1.JavaProcess{ours}, stands: true},
		"it never was attached to":         {record: []v1alpha1.JavaProcess{aProcess("app", 0)}},
	} {
		s := aScope()
		s.Status().Processes = tc.record
		if !tc.stands {
			s.runs("app")
		}
		var seen sighting
		for _, p := range tc.found {
			seen.add(container{"app", "containerd://app"}, p, refusalOf(p))
		}
		if tc.unseen || tc.refuses {
			seen.obstacles = []obstacle{{container: "app", whole: tc.unseen}}
		}
		if got := seen.unwanted(s); len(got) != tc.want {
			t.Errorf("%s: %d are unloaded", name, len(got))
		}
	}
}

// Who asks for which port, and which are not to be chosen.
func TestPorts(t *testing.T) {
	adopted, excluded := aProcess("c", 9999), aProcess("d", 9405)
	adopted.Adopted, excluded.Refusal = true, v1alpha1.RefusalExcluded
	loaded := aProcess("b", 9404)
	loaded.Intent = &v1alpha1.LoadIntent{Port: 0}
	first := aProcess("a", 9400)
	first.Intent = &v1alpha1.LoadIntent{Port: 9400}
	ports := func(s *Scope) (got []string) {
		if len(s.toLoad()) > 0 {
			s.toLoad()[0].First = true
		}
		for _, p := range s.Chosen() {
			if p.Adopted {
				continue
			}
			got = append(got, fmt.Sprintf("%s asks for %d, not %v", p.Container, s.port(p), s.avoid(p)))
		}
		return got
	}
	changed := aScope(first, loaded)
	changed.Exporter.Spec.Port = 9500
	waits := aScope(first, loaded)
	waits.Exporter.Spec.Port, waits.Granted = 9500, false
	free := aScope(aProcess("a", 0), aProcess("b", 0))
	free.Exporter.Spec.Port = 0
	declared := aScope(aProcess("a", 0))
	declared.Exporter.Spec.Port = 0
	declared.Pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9404}, {ContainerPort: 8080}}
	for name, tc := range map[string]struct {
		scope *Scope
		want  []string
	}{
		"one":                    {aScope(aProcess("a", 0)), []string{"a asks for 9400, not []"}},
		"two":                    {aScope(aProcess("a", 0), aProcess("b", 0)), []string{"a asks for 9400, not []", "b asks for 0, not [9400]"}},
		"beside an adopted one":  {aScope(adopted, aProcess("a", 0), aProcess("b", 0)), []string{"a asks for 9400, not [9999]", "b asks for 0, not [9400 9999]"}},
		"beside an excluded one": {aScope(aProcess("a", 0), excluded), []string{"a asks for 9400, not []"}},
		"the port is another":    {changed, []string{"a asks for 9500, not [9404]", "b asks for 0, not [9400 9500]"}},
		"but not its turn":       {waits, []string{"a asks for 9400, not [9404]", "b asks for 0, not [9400]"}},
		"the pod declares some":  {declared, []string{"a asks for 0, not [8080 9404]"}},
		"no port is named":       {free, []string{"a asks for 0, not []", "b asks for 0, not []"}},
	} {
		if diff := cmp.Diff(tc.want, ports(tc.scope)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An intent is written before the first load, with each try of it, and before
// what is told an agent that is there: once.
func TestAnnounce(t *testing.T) {
	load := Load{Artifacts: &Artifacts{}}
	s := aScope(aProcess("a", 0))
	s.Config.SHA256 = "one"
	p := &s.Status().Processes[0]
	p.First = true
	announced := func(what string, want bool) {
		t.Helper()
		if got := load.Announce(s); got != want {
			t.Errorf("%s: announced is %t", what, got)
		}
		if p.Intent.Port != 9400 || p.Intent.ConfigSHA256 != "one" {
			t.Errorf("%s: the intent is %+v", what, p.Intent)
		}
	}
	start := s.Now
	announced("the first load", true)
	s.Now = metav1.NewTime(start.Add(time.Minute))
	announced("its next try", true)
	if !p.Intent.Time.Equal(&s.Now) {
		t.Errorf("the try is said to have begun at %s", p.Intent.Time)
	}
	p.Port, p.ConfigSHA256 = 9400, "one"
	s.Now = metav1.NewTime(start.Add(time.Hour))
	announced("it serves what is wanted", false)
	p.ConfigSHA256 = ""
	announced("its agent stopped: it is loaded anew", true)
	if !p.Intent.Time.Equal(&s.Now) {
		t.Errorf("the load is said to have begun at %s", p.Intent.Time)
	}
	p.ConfigSHA256 = "one"
	s.Config.SHA256, s.Granted = "two", false
	p.Staged = &v1alpha1.StagedFiles{ConfigSHA256: "one"}
	announced("another is wanted, but not its turn", false)
	s.Granted = true
	if !load.Announce(s) || p.Intent.ConfigSHA256 != "two" || !p.Intent.Time.Equal(&s.Now) {
		t.Errorf("another configuration: the intent is %+v", p.Intent)
	}
}

// How often annotations that were taken away were put back, of late.
func TestRestored(t *testing.T) {
	now := aScope().Now
	ago := func(count int32, d time.Duration) *v1alpha1.Restores {
		return &v1alpha1.Restores{Count: count, LastTime: metav1.NewTime(now.Add(-d))}
	}
	for name, tc := range map[string]struct {
		reason string
		before *v1alpha1.Restores
		want   *v1alpha1.Restores
	}{
		"the first time they are put there":  {v1alpha1.ReasonNotReached, nil, nil},
		"after the endpoint was lost":        {v1alpha1.ReasonNotReached, ago(3, time.Second), ago(3, time.Second)},
		"they were taken away":               {v1alpha1.ReasonAnnotationLost, nil, ago(1, 0)},
		"somebody put his own there":         {v1alpha1.ReasonAnnotationConflict, nil, ago(1, 0)},
		"again":                              {v1alpha1.ReasonAnnotationLost, ago(1, 9*time.Minute), ago(2, 0)},
		"too often":                          {v1alpha1.ReasonAnnotationContested, ago(maxRestores, time.Minute), ago(maxRestores+1, 0)},
		"after ten minutes of peace":         {v1alpha1.ReasonAnnotationLost, ago(5, restoreWindow), ago(1, 0)},
		"after ten minutes, when they fight": {v1alpha1.ReasonAnnotationContested, ago(5, time.Hour), ago(1, 0)},
	} {
		s := aScope()
		s.Status().Reason, s.Status().Restores = tc.reason, tc.before
		if diff := cmp.Diff(tc.want, restored(s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Annotations mislead when the process whose port they name is not known any more.
func TestMisleads(t *testing.T) {
	us := string(apply.OwnerPodAnnotations)
	serving := func(container string, port int32) v1alpha1.JavaProcess {
		p := aProcess(container, port)
		p.Endpoint = &v1alpha1.Endpoint{Port: port}
		return p
	}
	for name, tc := range map[string]struct {
		owner     string
		processes []v1alpha1.JavaProcess
		want      bool
	}{
		"its endpoint is known":          {us, []v1alpha1.JavaProcess{serving("a", 9400)}, false},
		"another's is":                   {us, []v1alpha1.JavaProcess{serving("b", 9404)}, true},
		"both are":                       {us, []v1alpha1.JavaProcess{serving("b", 9404), serving("a", 9400)}, false},
		"none is":                        {us, []v1alpha1.JavaProcess{aProcess("a", 9400)}, true},
		"no process is":                  {us, nil, true},
		"somebody else's are no concern": {"helm", nil, false},
	} {
		s := aScope(tc.processes...)
		s.Pod.ObjectMeta = podWith(map[string][]string{tc.owner: {AnnotationPort}}).ObjectMeta
		s.Pod.Annotations[AnnotationPort] = "9400"
		if got := Misleads(s); got != tc.want {
			t.Errorf("%s: misleads is %t", name, got)
		}
	}
}

// A revision changes with what reaches into a pod, and with the person's word.
func TestRevision(t *testing.T) {
	artifacts := &Artifacts{Agent: transport.NewBlob("agent-", []byte("1"), ".jar")}
	of := func(change func(*v1alpha1.PrometheusJmxExporter, *Config)) string {
		e, config := &v1alpha1.PrometheusJmxExporter{}, Config{}
		change(e, &config)
		return Revision(e, config, artifacts)
	}
	type exporter = v1alpha1.PrometheusJmxExporter
	before := of(func(*exporter, *Config) {})
	for name, tc := range map[string]struct {
		change func(*exporter, *Config)
		same   bool
	}{
		"the labels":         {func(e *exporter, _ *Config) { e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"a": "b"} }, true},
		"the rollout":        {func(e *exporter, _ *Config) { e.Spec.Rollout.MaxConcurrent = 7 }, true},
		"suspend":            {func(e *exporter, _ *Config) { e.Spec.Suspend = true }, true},
		"the generation":     {func(e *exporter, _ *Config) { e.Generation = 7 }, true},
		"another annotation": {func(e *exporter, _ *Config) { e.Annotations = map[string]string{"a": "b"} }, true},
		"the port":           {func(e *exporter, _ *Config) { e.Spec.Port = 7 }, false},
		"the containers":     {func(e *exporter, _ *Config) { e.Spec.Containers = []v1alpha1.ContainerName{"app"} }, false},
		"the rules":          {func(e *exporter, _ *Config) { e.Spec.Processes = []v1alpha1.ProcessRule{{Action: "Exclude"}} }, false},
		"the configuration":  {func(_ *exporter, c *Config) { c.SHA256 = "x" }, false},
		"the word to go on":  {func(e *exporter, _ *Config) { e.Annotations = map[string]string{AnnotationResume: "1"} }, false},
	} {
		if got := of(tc.change); (got == before) != tc.same || len(got) > 64 {
			t.Errorf("%s: the revision is %s, was %s", name, got, before)
		}
	}
	if Revision(&exporter{}, Config{}, &Artifacts{Agent: transport.NewBlob("agent-", []byte("2"), ".jar")}) == before {
		t.Error("with another agent it is the same")
	}
}
