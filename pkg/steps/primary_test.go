package steps

import (
	"fmt"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// The pod's primary process, which gets the exporter's port, stays primary as long as it
// runs; a process that serves another port does not replace it.
func TestPrimary(t *testing.T) {
	for name, tc := range map[string]struct {
		record, found []string // name, port if it serves one, and further properties
		noPort        bool
		want          string // requested ports, in order
	}{
		"the status is empty":                             {found: []string{"a", "b"}, want: "a 9400, b 0"},
		"the primary stays":                               {record: []string{"a 9400 primary", "b 9404"}, found: []string{"b 9404", "a 9400"}, want: "a 9400, b 0"},
		"the primary stays, whatever the processes serve": {record: []string{"a 9404 primary", "b 9400"}, found: []string{"a 9404", "b 9400"}, want: "a 9400, b 0"},
		"the primary exits":                               {record: []string{"a 9400 primary", "b 9404"}, found: []string{"b 9404"}, want: "b 0"},
		"a new process starts after the primary exited":   {record: []string{"b 9404"}, found: []string{"b 9404", "c"}, want: "c 9400, b 0"},
		"the primary exits and a new process starts":      {record: []string{"a 9400 primary", "b 9404"}, found: []string{"b 9404", "c"}, want: "c 9400, b 0"},
		"two new processes start":                         {record: []string{"b 9404"}, found: []string{"b 9404", "c", "d"}, want: "c 9400, b 0, d 0"},
		"another process exits":                           {record: []string{"a 9400 primary", "b 9404"}, found: []string{"a 9400"}, want: "a 9400"},
		"another process starts":                          {record: []string{"a 9400 primary"}, found: []string{"c", "a 9400"}, want: "a 9400, c 0"},
		"the primary is excluded":                         {record: []string{"a 9400 primary", "b 9404"}, found: []string{"a excluded", "b 9404"}, want: "b 0"},
		"the primary fails temporarily":                   {record: []string{"a 0 primary failing", "b 9404"}, found: []string{"a", "b 9404"}, want: "a 9400, b 0"},
		"a refused process can be attached to now":        {record: []string{"a 0 never refused"}, found: []string{"a"}, want: "a 9400"},
		"the primary refuses now":                         {record: []string{"a 9400 primary"}, found: []string{"a refuses", "c"}, want: "c 9400"},
		"the primary is starting":                         {found: []string{"a starting", "b"}, want: "a 9400, b 0"},
		"the record was deleted":                          {found: []string{"b 9404", "a 9400"}, want: "a 9400, b 0"},
		"an adopted process is not primary":               {found: []string{"a stock", "b"}, want: "b 9400"},
		"an adopted process alone is not primary":         {found: []string{"a stock"}},
		"no port is set for the remaining process":        {record: []string{"b 9404"}, found: []string{"b 9404", "c"}, noPort: true, want: "c 0, b 0"},
	} {
		s := aSituation()
		s.runs("app")
		s.inspectedWell()
		if tc.noPort {
			s.Exporter.Spec.Port = 0
		}
		for _, words := range tc.record {
			fields := strings.Fields(words)
			p := aProcess("app", 0)
			p.PID, p.MainClass, p.Intent = int32(fields[0][0]), fields[0], &v1alpha1.LoadIntent{}
			if _, err := fmt.Sscan(fields[1], &p.Port); err != nil {
				t.Fatal(err)
			}
			p.Primary = strings.Contains(words, "primary")
			switch {
			case strings.Contains(words, "failing"):
				p.Reason = v1alpha1.ReasonPortInUse
			case strings.Contains(words, "never refused"): // nor attached to
				p.Intent, p.Phase, p.Reason = nil, v1alpha1.PhaseDiscovered, v1alpha1.ReasonAttachDisabled
				p.Attempt = &v1alpha1.Attempt{Key: s.Key(), Phase: v1alpha1.PhaseJavaFound, Count: 1}
			}
			s.Status().Processes = append(s.Status().Processes, p)
		}
		var found []helperapi.Process
		for _, words := range tc.found {
			who, how, _ := strings.Cut(words, " ")
			found = append(found, foundAs(t, who, how))
		}
		s.merge(app, found)
		s.choosePrimary()
		var got []string
		primaries := 0
		for _, p := range s.Chosen() {
			if !p.Adopted {
				got = append(got, fmt.Sprintf("%s %d", p.MainClass, (&JVM{s.Situation, p}).port()))
			}
			if p.Primary {
				primaries++
			}
		}
		if joined := strings.Join(got, ", "); joined != tc.want || primaries > 1 {
			t.Errorf("%s: requested ports: got %q, want %q; primaries: %d", name, joined, tc.want, primaries)
		}
	}
}

// A container that could not be inspected yet may have an earlier primary process;
// a container that can never be inspected has none.
func TestPrimaryBehindAFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		failing, reason string
		tries           int32
		how             func(*scene)
		want            string
		waits           bool // whether a process that is not attached to waits
	}{
		"no inspection fails":                             {want: "a"},
		"the first inspection fails":                      {"a", v1alpha1.ReasonExecFailed, 1, nil, "", true},
		"the first inspection fails again":                {"a", v1alpha1.ReasonExecFailed, maxPrimaryTries, nil, "", true},
		"the first inspection fails too often":            {"a", v1alpha1.ReasonExecFailed, maxPrimaryTries + 1, nil, "b", false},
		"the first container is too young":                {"a", v1alpha1.ReasonJVMStarting, 1, nil, "", true},
		"the first container can never be inspected":      {"a", v1alpha1.ReasonNoShell, 1, nil, "b", false},
		"the first container was not inspected":           {"a", "", 0, nil, "", true},
		"the second inspection fails":                     {"b", v1alpha1.ReasonExecFailed, 1, nil, "a", false},
		"the inspection of an unselected container fails": {"z", v1alpha1.ReasonExecFailed, 1, nil, "a", false},
		"no port is set":                                  {"a", v1alpha1.ReasonExecFailed, 1, func(s *scene) { s.Exporter.Spec.Port = 0 }, "", false},
		"the second process was attached to":              {"a", v1alpha1.ReasonExecFailed, 1, func(s *scene) { s.Status().Processes[0].Intent = &v1alpha1.LoadIntent{} }, "", false},
		"the second process is adopted":                   {"a", v1alpha1.ReasonExecFailed, 1, func(s *scene) { s.Status().Processes[0].Adopted = true }, "", false},
		"the second process is primary already":           {"a", v1alpha1.ReasonExecFailed, 1, func(s *scene) { s.Status().Processes[0].Primary = true }, "b", false},
		"the pod has no slot":                             {"a", v1alpha1.ReasonExecFailed, 1, func(s *scene) { s.Granted = false }, "", false},
	} {
		s := aSituation(aProcess("a", 0), aProcess("b", 0)).inspectedWell()
		s.Status().Containers = append(s.Status().Containers, v1alpha1.InspectedContainer{Name: "z"})
		if entry := s.Inspected(tc.failing); entry != nil {
			entry.Reason, entry.Attempt = tc.reason, &v1alpha1.Attempt{Count: tc.tries}
			if tc.reason == "" {
				entry.ContainerID = "containerd://old"
			}
			s.Drop(func(p *v1alpha1.JavaProcess) bool { return p.Container == tc.failing })
		}
		if tc.how != nil {
			tc.how(s)
		}
		s.choosePrimary()
		got := ""
		for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.Primary }) {
			got += p.Container
		}
		if got != tc.want {
			t.Errorf("%s: primary: got %q, want %q", name, got, tc.want)
		}
		if got := s.jvm().awaitsPrimary(); got != tc.waits {
			t.Errorf("%s: awaitsPrimary in %s: got %t", name, s.jvm().Process.Container, got)
		}
	}
}

// The annotations name the primary process; also one that needs a person, as long as it has
// an endpoint, so that no scrape is redirected.
func TestAnnotatedJVM(t *testing.T) {
	refuses := func(p *v1alpha1.JavaProcess) {
		p.Phase, p.Reason = v1alpha1.PhaseJavaFound, v1alpha1.ReasonAgentDirectoryNotTrusted
	}
	for name, tc := range map[string]struct {
		processes []v1alpha1.JavaProcess
		want      string
		exposed   bool
	}{
		"there is no process":                   {nil, "", false},
		"the primary serves":                    {[]v1alpha1.JavaProcess{serving("a", 9400), serving("b", 9404)}, "a", true},
		"the primary is listed last":            {[]v1alpha1.JavaProcess{serving("b", 9404), serving("a", 9400)}, "a", true},
		"there is no primary":                   {[]v1alpha1.JavaProcess{serving("b", 9404)}, "b", true},
		"the primary is not exposed yet":        {[]v1alpha1.JavaProcess{with(aProcess("a", 0), func(p *v1alpha1.JavaProcess) { p.Primary = true }), serving("b", 9404)}, "a", false},
		"the primary refuses, and serves":       {[]v1alpha1.JavaProcess{serving("b", 9404), with(serving("a", 9400), refuses)}, "a", false},
		"the primary refuses, and never served": {[]v1alpha1.JavaProcess{with(aProcess("a", 0), refuses), serving("b", 9404)}, "b", true},
		"the only process refuses, and serves":  {[]v1alpha1.JavaProcess{with(serving("a", 9400), refuses)}, "a", false},
		"the only process is excluded":          {[]v1alpha1.JavaProcess{with(serving("a", 9400), excluded)}, "", false},
	} {
		s := aSituation(tc.processes...)
		got := ""
		if p := annotatedJVM(s.Situation); p != nil {
			got = p.Container
		}
		if got != tc.want || canAnnotate(s.Situation) != tc.exposed {
			t.Errorf("%s: got %q, want %q; CanAnnotate is %t", name, got, tc.want, canAnnotate(s.Situation))
		}
	}
}
