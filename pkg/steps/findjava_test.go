package steps

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A container that had to wait for capacity is inspected later, even if another container
// has a JVM.
func TestQueuedInspectionIsDue(t *testing.T) {
	s := aSituation(aProcess("a", 0)).inspectedWell()
	s.runs("b")
	helper := &answering{answers: map[string]func() (*helperapi.Report, error){"b inspect": says(v1alpha1.ReasonQueued)}}
	s.Helper = helper
	for range 2 {
		if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != v1alpha1.ReasonQueued || !s.inspectionDue() {
			t.Errorf("got reason %q, due %t, want Queued and due", got.Reason, s.inspectionDue())
		}
	}
	helper.answers["b inspect"] = sees()
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != "" || s.inspectionDue() || len(helper.ran) != 3 {
		t.Errorf("got reason %q after calls %q, due %t, want none after three and not due", got.Reason, helper.ran, s.inspectionDue())
	}
}

// Findings in the containers of a pod, in their order, and the outcome.
func TestFindJava(t *testing.T) {
	type answer = func() (*helperapi.Report, error)
	jvm := func(refusal helperapi.Reason) answer {
		p := helperapi.Process{Target: aTarget, Implementation: "HotSpot"}
		if refusal != "" {
			p.Refusal = &helperapi.Error{Reason: refusal, Message: "No."}
		}
		return sees(p)
	}
	nothing := sees()
	loaded := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot", AgentJarOpen: true, Refusal: &helperapi.Error{Reason: helperapi.ReasonInsufficientThreads, Message: "No."}})
	for name, tc := range map[string]struct {
		containers []answer
		rules      []v1alpha1.ProcessRule
		want       string
		primary    string
	}{
		"one container has a JVM":                                           {containers: []answer{jvm("")}, primary: "a"},
		"a sidecar without a shell is no reason to refuse":                  {containers: []answer{jvm(""), says(v1alpha1.ReasonNoShell)}, primary: "a"},
		"a container without a shell does not refuse while a JVM may start": {containers: []answer{nothing, says(v1alpha1.ReasonNoShell)}, want: v1alpha1.ReasonNoJavaProcess},
		"a JVM that is starting is awaited":                                 {containers: []answer{jvm(helperapi.ReasonJVMStarting), says(v1alpha1.ReasonNoShell)}, want: v1alpha1.ReasonJVMStarting, primary: "a"},
		"a JVM without threads is tried again":                              {containers: []answer{jvm(helperapi.ReasonInsufficientThreads)}, want: v1alpha1.ReasonInsufficientThreads, primary: "a"},
		"a JVM that has the agent needs no other thread":                    {containers: []answer{loaded}, primary: "a"},
		"a JVM that is starting delays no other":                            {containers: []answer{jvm(helperapi.ReasonJVMStarting), jvm("")}, primary: "a"},
		"a failed exec delays no other container":                           {containers: []answer{says(v1alpha1.ReasonExecFailed), jvm("")}},
		"an error without a reason delays no other container":               {containers: []answer{func() (*helperapi.Report, error) { return nil, errors.New("EOF") }, jvm("")}},
		"without capacity the outcome is Queued":                            {containers: []answer{says(v1alpha1.ReasonQueued), jvm("")}, want: v1alpha1.ReasonQueued},
		"a JVM that refuses is the outcome":                                 {containers: []answer{nothing, says(v1alpha1.ReasonNoShell), jvm(helperapi.ReasonAttachDisabled)}, want: v1alpha1.ReasonAttachDisabled},
		"no container may start a JVM":                                      {containers: []answer{says(v1alpha1.ReasonNoShell), says(v1alpha1.ReasonNoShell)}, want: v1alpha1.ReasonNoShell},
		"a temporary failure comes before a permanent one":                  {containers: []answer{says(v1alpha1.ReasonNoShell), says(v1alpha1.ReasonExecFailed)}, want: v1alpha1.ReasonExecFailed},
		"a JVM may still start":                                             {containers: []answer{nothing, nothing}, want: v1alpha1.ReasonNoJavaProcess},
		"all processes are excluded":                                        {containers: []answer{sees(helperapi.Process{Target: aTarget, Excluded: true})}, want: v1alpha1.ReasonNoProcessIncluded},
		"no container runs":                                                 {want: v1alpha1.ReasonContainerNotRunning},
	} {
		s := aSituation()
		s.Exporter.Spec.Processes = tc.rules
		helper := &answering{answers: map[string]answer{}}
		for i, answer := range tc.containers {
			c := string(rune('a' + i))
			s.runs(c)
			helper.answers[c+" inspect"] = answer
		}
		s.Helper = helper
		if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != tc.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Reason, got.Message, tc.want)
		}
		primary := ""
		for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.Primary }) {
			primary += p.Container
		}
		if primary != tc.primary {
			t.Errorf("%s: primary is %q, want %q", name, primary, tc.primary)
		}
	}
}

// If one of two containers can no longer be inspected, its part of the status is kept,
// and its JVM keeps serving.
func TestFindJavaBesideAFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		worker func() (*helperapi.Report, error)
		want   string
	}{
		"the container can never be inspected": {says(v1alpha1.ReasonNoShell), ""},
		"the exec fails":                       {says(v1alpha1.ReasonExecFailed), ""},
		"there is no capacity":                 {says(v1alpha1.ReasonQueued), v1alpha1.ReasonQueued},
		"the error has no reason":              {func() (*helperapi.Report, error) { return nil, errors.New("EOF") }, ""},
		"exec is forbidden":                    {says(v1alpha1.ReasonExecForbidden), ""},
	} {
		s := aSituation(with(serving("app", 9400), func(p *v1alpha1.JavaProcess) { p.AgentFound = true }), serving("worker", 9404))
		want := s.Status().DeepCopy().Processes
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){
			"app inspect":    sees(helperapi.Process{Target: aTarget, Mark: isRunning}),
			"worker inspect": tc.worker,
		}}
		s.Helper = helper
		if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != tc.want {
			t.Errorf("%s: reason: got %q (%s), want %q", name, got.Reason, got.Message, tc.want)
		}
		if diff := cmp.Diff([]string{"app inspect", "worker inspect"}, helper.ran); diff != "" {
			t.Errorf("%s: helper operations (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, s.Status().Processes); diff != "" {
			t.Errorf("%s: processes in the status (-want +got):\n%s", name, diff)
		}
	}
}

// Processes of containers that the exporter no longer selects are excluded once that is
// granted, and keep what must be undone.
func TestExclude(t *testing.T) {
	for _, granted := range []bool{true, false} {
		s := aSituation(serving("app", 9400), serving("worker", 9404)).inspectedWell()
		s.Exporter.Spec.Containers, s.Granted = []v1alpha1.ContainerName{"worker"}, granted
		s.exclude(s.containers())
		want := []v1alpha1.JavaProcess{serving("app", 9400), serving("worker", 9404)}
		if granted {
			excluded(&want[0])
		}
		if diff := cmp.Diff(want, s.Status().Processes); diff != "" {
			t.Errorf("granted %t (-want +got):\n%s", granted, diff)
		}
		if kept := s.Inspected("app") != nil; kept == granted {
			t.Errorf("granted %t: the container is still recorded: %t", granted, kept)
		}
	}
}

// Published endpoints identify the processes of a record that was lost.
func TestRecognize(t *testing.T) {
	lost := with(serving("app", 9400), func(p *v1alpha1.JavaProcess) { p.Endpoint = nil })
	for name, tc := range map[string]struct {
		published []PublishedEndpoint
		want      bool
	}{
		"the endpoint is the process's own":          {[]PublishedEndpoint{{anAddress, 9400, false}}, true},
		"the endpoint is the process's own over TLS": {[]PublishedEndpoint{{anAddress, 9400, true}}, true},
		"the endpoint has another address":           {[]PublishedEndpoint{{"10.0.0.9", 9400, false}}, false},
		"the endpoint has another port":              {[]PublishedEndpoint{{anAddress, 9404, false}}, false},
		"there is no endpoint":                       {nil, false},
	} {
		s := aSituation(lost)
		s.Published = tc.published
		recognize(s.Situation)
		endpoint := s.jvm().Process.Endpoint
		if got := endpoint != nil; got != tc.want {
			t.Errorf("%s: recognized: got %t, want %t", name, got, tc.want)
		} else if got && endpoint.TLS != tc.published[0].TLS {
			t.Errorf("%s: TLS: got %t, want %t", name, endpoint.TLS, tc.published[0].TLS)
		}
	}
}

// A record that was lost gets its pinned certificate from the inspection, if the agent
// serves with the current security.
func TestInspectionPinsCertificate(t *testing.T) {
	inUse := Security{CertificateSHA256: strings.Repeat("b", 64)}
	inUse.SHA256 = strings.Repeat("a", 64)
	for name, tc := range map[string]struct {
		mark, want string
	}{
		"the agent has the current security": {inUse.SHA256, inUse.CertificateSHA256},
		"the agent has an older security":    {strings.Repeat("c", 64), ""},
		"the agent has no security":          {"", ""},
	} {
		s := aSituation()
		s.runs("app")
		s.Security = inUse
		mark := *isRunning
		mark.SecuritySHA256 = tc.mark
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){
			"app inspect": sees(helperapi.Process{Target: aTarget, Mark: &mark}),
		}}
		if outcome := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); len(s.Status().Processes) != 1 {
			t.Errorf("%s: want one process in the status, got outcome %+v", name, outcome)
			continue
		}
		if got := s.Status().Processes[0].CertificateSHA256; got != tc.want {
			t.Errorf("%s: pinned certificate: got %q, want %q", name, got, tc.want)
		}
	}
}
