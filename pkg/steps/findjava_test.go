package steps

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
)

// A container for which there was no room is inspected when there is, also where
// another one has a JVM.
func TestQueuedInspectionIsDue(t *testing.T) {
	s := aScope(aProcess("a", 0)).inspectedWell()
	s.runs("b")
	helper := &answering{answers: map[string]func() (*helperapi.Report, error){"b inspect": says(v1alpha1.ReasonQueued)}}
	s.Helper = helper
	for range 2 {
		if got := (FindJava{}).Ensure(t.Context(), s); got.Reason != v1alpha1.ReasonQueued || !Due(s) {
			t.Errorf("it comes to %q; due is %t", got.Reason, Due(s))
		}
	}
	helper.answers["b inspect"] = sees()
	if got := (FindJava{}).Ensure(t.Context(), s); got.Reason != "" || Due(s) || len(helper.ran) != 3 {
		t.Errorf("it comes to %q after %q; due is %t", got.Reason, helper.ran, Due(s))
	}
}

// What is found in the containers of a pod, in their order, and what it comes to.
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
	for name, tc := range map[string]struct {
		containers []answer
		rules      []v1alpha1.ProcessRule
		want       string
		primary    string
	}{
		"the plain case":                                {containers: []answer{jvm("")}, primary: "a"},
		"a sidecar is no reason to refuse":              {containers: []answer{jvm(""), says(v1alpha1.ReasonNoShell)}, primary: "a"},
		"no JVM beside a container without a shell yet": {containers: []answer{nothing, says(v1alpha1.ReasonNoShell)}, want: v1alpha1.ReasonNoJavaProcess},
		"a JVM that is starting is waited for":          {containers: []answer{jvm(helperapi.ReasonJVMStarting), says(v1alpha1.ReasonNoShell)}, want: v1alpha1.ReasonJVMStarting, primary: "a"},
		"a JVM that is starting holds up no other":      {containers: []answer{jvm(helperapi.ReasonJVMStarting), jvm("")}, primary: "a"},
		"a failed exec holds up no other container":     {containers: []answer{says(v1alpha1.ReasonExecFailed), jvm("")}},
		"an error without a reason neither":             {containers: []answer{func() (*helperapi.Report, error) { return nil, errors.New("EOF") }, jvm("")}},
		"without room nothing is said":                  {containers: []answer{says(v1alpha1.ReasonQueued), jvm("")}, want: v1alpha1.ReasonQueued},
		"a JVM that refuses decides":                    {containers: []answer{nothing, says(v1alpha1.ReasonNoShell), jvm(helperapi.ReasonAttachDisabled)}, want: v1alpha1.ReasonAttachDisabled},
		"nobody is left who could start one":            {containers: []answer{says(v1alpha1.ReasonNoShell), says(v1alpha1.ReasonNoShell)}, want: v1alpha1.ReasonNoShell},
		"what may pass comes before what may not":       {containers: []answer{says(v1alpha1.ReasonNoShell), says(v1alpha1.ReasonExecFailed)}, want: v1alpha1.ReasonExecFailed},
		"no JVM may still come":                         {containers: []answer{nothing, nothing}, want: v1alpha1.ReasonNoJavaProcess},
		"all are left out":                              {containers: []answer{sees(helperapi.Process{Target: aTarget, Excluded: true})}, want: v1alpha1.ReasonNoProcessIncluded},
		"no container runs":                             {want: v1alpha1.ReasonContainerNotRunning},
	} {
		s := aScope()
		s.Exporter.Spec.Processes = tc.rules
		helper := &answering{answers: map[string]answer{}}
		for i, answer := range tc.containers {
			c := string(rune('a' + i))
			s.runs(c)
			helper.answers[c+" inspect"] = answer
		}
		s.Helper = helper
		if got := (FindJava{}).Ensure(t.Context(), s); got.Reason != tc.want {
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

// One of two containers cannot be inspected any more: what is known of it stays in
// the record, and its JVM goes on.
func TestFindJavaBesideAFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		worker func() (*helperapi.Report, error)
		want   string
	}{
		"for good":                {says(v1alpha1.ReasonNoShell), ""},
		"this time":               {says(v1alpha1.ReasonExecFailed), ""},
		"for want of room":        {says(v1alpha1.ReasonQueued), v1alpha1.ReasonQueued},
		"for an unknown reason":   {func() (*helperapi.Report, error) { return nil, errors.New("EOF") }, ""},
		"since exec is forbidden": {says(v1alpha1.ReasonExecForbidden), ""},
	} {
		s := aScope(with(serving("app", 9400), func(p *v1alpha1.JavaProcess) { p.AgentFound = true }), serving("worker", 9404))
		want := s.Status().DeepCopy().Processes
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){
			"app inspect":    sees(helperapi.Process{Target: aTarget, Mark: isRunning}),
			"worker inspect": tc.worker,
		}}
		s.Helper = helper
		if got := (FindJava{}).Ensure(t.Context(), s); got.Reason != tc.want {
			t.Errorf("%s: %s: %s", name, got.Reason, got.Message)
		}
		if diff := cmp.Diff([]string{"app inspect", "worker inspect"}, helper.ran); diff != "" {
			t.Errorf("%s: what ran (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, s.Status().Processes); diff != "" {
			t.Errorf("%s: the record (-want +got):\n%s", name, diff)
		}
	}
}

// Processes of containers that the exporter does not name any more are left out,
// and keep what is to be undone; not before that is granted.
func TestExclude(t *testing.T) {
	for _, granted := range []bool{true, false} {
		s := aScope(serving("app", 9400), serving("worker", 9404)).inspectedWell()
		s.Exporter.Spec.Containers, s.Granted = []v1alpha1.ContainerName{"worker"}, granted
		s.exclude(s.containers())
		want := []v1alpha1.JavaProcess{serving("app", 9400), serving("worker", 9404)}
		if granted {
			excluded(&want[0])
		}
		if diff := cmp.Diff(want, s.Status().Processes); diff != "" {
			t.Errorf("granted %t (-want +got):\n%s", granted, diff)
		}
		if kept := s.inspected("app") != nil; kept == granted {
			t.Errorf("granted %t: its container is kept: %t", granted, kept)
		}
	}
}

// Endpoints that are published answered to a record that was lost.
func TestRecognize(t *testing.T) {
	lost := with(serving("app", 9400), func(p *v1alpha1.JavaProcess) { p.Endpoint = nil })
	for name, tc := range map[string]struct {
		published []PublishedEndpoint
		want      bool
	}{
		"its own":            {[]PublishedEndpoint{{anAddress, 9400, false}}, true},
		"its own, over TLS":  {[]PublishedEndpoint{{anAddress, 9400, true}}, true},
		"at another address": {[]PublishedEndpoint{{"10.0.0.9", 9400, false}}, false},
		"at another port":    {[]PublishedEndpoint{{anAddress, 9404, false}}, false},
		"none":               {nil, false},
	} {
		s := aScope(lost)
		s.Published = tc.published
		recognize(s)
		endpoint := s.jvm().Process.Endpoint
		if got := endpoint != nil; got != tc.want {
			t.Errorf("%s: recognized is %t", name, got)
		} else if got && endpoint.TLS != tc.published[0].TLS {
			t.Errorf("%s: TLS is %t", name, endpoint.TLS)
		}
	}
}

// A lost record gets the certificate to pin back from the inspection, if the agent serves
// with the security that is in use.
func TestInspectionPinsCertificate(t *testing.T) {
	inUse := Security{CertificateSHA256: strings.Repeat("b", 64)}
	inUse.SHA256 = strings.Repeat("a", 64)
	for name, tc := range map[string]struct {
		mark, want string
	}{
		"the security in use": {inUse.SHA256, inUse.CertificateSHA256},
		"an older one":        {strings.Repeat("c", 64), ""},
		"none":                {"", ""},
	} {
		s := aScope()
		s.runs("app")
		s.Security = inUse
		mark := *isRunning
		mark.SecuritySHA256 = tc.mark
		s.Helper = &answering{answers: map[string]func() (*helperapi.Report, error){
			"app inspect": sees(helperapi.Process{Target: aTarget, Mark: &mark}),
		}}
		if outcome := (FindJava{}).Ensure(t.Context(), s); len(s.Status().Processes) != 1 {
			t.Errorf("%s: %+v", name, outcome)
			continue
		}
		if got := s.Status().Processes[0].CertificateSHA256; got != tc.want {
			t.Errorf("%s: the certificate to pin is %q, want %q", name, got, tc.want)
		}
	}
}

// An application is left to start before anybody inspects its container.
func TestTooYoung(t *testing.T) {
	for name, tc := range map[string]struct {
		age  time.Duration
		want time.Duration
	}{
		"it starts now":           {0, minAge},
		"a moment ago":            {minAge - time.Second, time.Second},
		"long enough ago":         {minAge, 0},
		"by another clock":        {-time.Second, 0},
		"nobody says when it did": {-1, 0},
	} {
		s := aScope()
		s.runs("app")
		if tc.age != -1 {
			s.Pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.Now.Add(-tc.age))
		}
		if got := s.tooYoung(running(s.Pod)[0]); got != tc.want {
			t.Errorf("%s: %s", name, got)
			continue
		}
		helper := &answering{answers: map[string]func() (*helperapi.Report, error){"app inspect": sees()}}
		s.Helper = helper
		outcome := FindJava{}.Ensure(t.Context(), s)
		if ran := slices.Contains(helper.ran, "app inspect"); ran == (tc.want > 0) || tc.want > 0 && outcome.RetryAfter != tc.want {
			t.Errorf("%s: inspected is %t, and again after %s", name, ran, outcome.RetryAfter)
		}
	}
}
