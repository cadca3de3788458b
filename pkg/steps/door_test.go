package steps

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// byTransport answers by the container and the transport, and notes what was run.
type byTransport struct {
	answers map[string]func() (*helperapi.Report, error)
	ran     []string
}

// Run implements Helper.
func (b *byTransport) Run(_ context.Context, in transport.Container, _ helperapi.Verb, _ helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
	key := in.Name
	if in.Transport != "" {
		key += " " + string(in.Transport)
	}
	if in.User != nil {
		key += " as another user"
	}
	b.ran = append(b.ran, key)
	return b.answers[key]()
}

// Open implements Helper.
func (*byTransport) Open(context.Context, transport.Container) error { return nil }

const door = " EphemeralContainer"

// Which containers are inspected by exec, and which through an ephemeral container.
func TestTransport(t *testing.T) {
	type answers = map[string]func() (*helperapi.Report, error)
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	mismatch := sees(helperapi.Process{Target: aTarget, UID: 5, GID: 6, Refusal: &helperapi.Error{Reason: helperapi.ReasonUserMismatch, Message: "No."}})
	for name, tc := range map[string]struct {
		transport v1alpha1.Transport
		named     []v1alpha1.ContainerName
		answers   answers
		ready     bool
		closed    string
		ran       []string
		want      string // of what was found
	}{
		"exec where there is a shell":      {answers: answers{"a": jvm}, ran: []string{"a"}},
		"else an ephemeral container":      {answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: jvm}, ran: []string{"a", "a" + door}},
		"and where /tmp is noexec":         {answers: answers{"a": says(v1alpha1.ReasonHelperNotExecutable), "a" + door: jvm}, ran: []string{"a", "a" + door}},
		"a policy on execs holds for both": {answers: answers{"a": says(v1alpha1.ReasonExecRefused)}, ran: []string{"a"}, want: v1alpha1.ReasonExecRefused},
		"it takes a while to start":        {answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: says(v1alpha1.ReasonDoorPending)}, ran: []string{"a", "a" + door}, want: v1alpha1.ReasonDoorPending},
		"not for what it would not help":   {answers: answers{"a": says(v1alpha1.ReasonTmpNotWritable)}, ran: []string{"a"}, want: v1alpha1.ReasonTmpNotWritable},
		"never, if the exporter says so":   {transport: v1alpha1.TransportExec, answers: answers{"a Exec": says(v1alpha1.ReasonNoShell)}, ran: []string{"a Exec"}, want: v1alpha1.ReasonNoShell},
		"always, if the exporter says so":  {transport: v1alpha1.TransportEphemeralContainer, answers: answers{"a" + door: jvm}, ran: []string{"a" + door}},
		"a sidecar is let alone":           {answers: answers{"a": jvm, "b": says(v1alpha1.ReasonNoShell)}, ran: []string{"a", "b"}},
		"one ephemeral container at a time": {
			answers: answers{"a": says(v1alpha1.ReasonNoShell), "b": says(v1alpha1.ReasonNoShell), "a" + door: says(v1alpha1.ReasonDoorPending)},
			ran:     []string{"a", "b", "a" + door}, want: v1alpha1.ReasonDoorPending,
		},
		"unless it is named": {
			named:   []v1alpha1.ContainerName{"a", "b"},
			answers: answers{"a": jvm, "b": says(v1alpha1.ReasonNoShell), "b" + door: jvm}, ran: []string{"a", "b", "b" + door},
		},
		"a JVM that starts beside it is waited for":  {answers: answers{"a": sees(), "b": says(v1alpha1.ReasonNoShell)}, ran: []string{"a", "b"}, want: v1alpha1.ReasonNoJavaProcess},
		"until the pod is ready":                     {ready: true, answers: answers{"a": sees(), "b": says(v1alpha1.ReasonNoShell), "b" + door: jvm}, ran: []string{"a", "b", "b" + door}},
		"and so is one that cannot be inspected yet": {answers: answers{"a": says(v1alpha1.ReasonExecFailed), "b": says(v1alpha1.ReasonNoShell)}, ran: []string{"a", "b"}, want: v1alpha1.ReasonExecFailed},
		"the JVM's user is found first": {
			answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: mismatch, "a" + door + " as another user": jvm},
			ran:     []string{"a", "a" + door, "a" + door + " as another user"},
		},
		"once": {
			answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: mismatch, "a" + door + " as another user": mismatch},
			ran:     []string{"a", "a" + door, "a" + door + " as another user"}, want: v1alpha1.ReasonUserMismatch,
		},
		"none is added before the pod's turn": {closed: v1alpha1.ReasonRolloutPending, answers: answers{"a": says(v1alpha1.ReasonNoShell)}, ran: []string{"a"}, want: v1alpha1.ReasonRolloutPending},
	} {
		t.Run(name, func(t *testing.T) {
			s := aScope()
			s.Exporter.Spec.Transport, s.Exporter.Spec.Containers = tc.transport, tc.named
			if tc.ready {
				s.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now.Add(-time.Minute))}}
			}
			s.DoorGate = func(string, string) *statemachine.Outcome {
				if tc.closed == "" {
					return nil
				}
				return new(NotDone(tc.closed, "No."))
			}
			for key := range tc.answers {
				s.runs(key[:1])
			}
			if len(s.Pod.Spec.Containers) == 2 && s.Pod.Spec.Containers[0].Name == "b" { // a map has no order
				s.Pod.Spec.Containers[0], s.Pod.Spec.Containers[1] = s.Pod.Spec.Containers[1], s.Pod.Spec.Containers[0]
			}
			helper := &byTransport{answers: tc.answers}
			s.Helper = helper
			if got := (FindJava{}).Ensure(t.Context(), s); got.Reason != tc.want {
				t.Errorf("it comes to %q: %s", got.Reason, got.Message)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("executed (-want +got):\n%s", diff)
			}
		})
	}
}

// What was found through an ephemeral container is reached through it from then on,
// and the condition says why.
func TestTransportStays(t *testing.T) {
	s := aScope()
	s.runs("a")
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	s.Helper = &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": says(v1alpha1.ReasonNoShell), "a" + door: jvm}}
	(FindJava{}).Ensure(t.Context(), s)
	if got := s.jvm().at().Transport; got != v1alpha1.TransportEphemeralContainer {
		t.Errorf("the JVM is reached by %q", got)
	}
	want := "HotSpot runs a Java program in container a. Container a is reached through an ephemeral container (exec: NoShell)."
	if got := s.Held(JavaFound).Message; got != want {
		t.Errorf("the condition says %q", got)
	}
}

// What was found out about a container is kept when it is inspected again.
func TestTransportIsKept(t *testing.T) {
	s := aScope(aProcess("a", 0)).inspectedWell()
	entry := s.inspected("a")
	entry.Transport, entry.TransportReason, entry.User = v1alpha1.TransportEphemeralContainer, v1alpha1.ReasonNoShell, "5:6"
	s.InspectAgain("a")
	if at := s.at("a"); at.Transport != v1alpha1.TransportEphemeralContainer || at.User == nil {
		t.Errorf("it is reached by %+v", at)
	}
	if got := s.inspectedOrNew(running(s.Pod)[0]); got.TransportReason != v1alpha1.ReasonNoShell || got.User != "5:6" {
		t.Errorf("the record has %+v", got)
	}
}

// In mode Preflight no ephemeral container is added, and what was refused for that is
// tried again when it ends.
func TestTransportAfterPreflight(t *testing.T) {
	s := aScope()
	s.runs("a")
	s.Exporter.Spec.Mode = v1alpha1.ModePreflight
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": says(v1alpha1.ReasonNoShell), "a" + door: jvm}}
	s.Helper = helper
	if got := (FindJava{}).Ensure(t.Context(), s); got.Reason != v1alpha1.ReasonNoShell || Due(s) {
		t.Errorf("it comes to %q, due is %t", got.Reason, Due(s))
	}
	s.Exporter.Spec.Mode = v1alpha1.ModeAttach
	if !Due(s) {
		t.Error("what was refused in mode Preflight stays refused")
	}
	if got := (FindJava{}).Ensure(t.Context(), s); got.Kind != statemachine.Done || Due(s) {
		t.Errorf("it comes to %q after %q, due is %t", got.Reason, helper.ran, Due(s))
	}
}

// No ephemeral container is added only to look at an endpoint that missed a check.
func TestExamineAddsNoDoor(t *testing.T) {
	s := aScope(serving("a", 9400)).inspectedWell()
	s.inspected("a").Transport = v1alpha1.TransportEphemeralContainer
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + door: says(v1alpha1.ReasonProcessGone)}}
	s.Helper = helper
	if got := s.Examine(t.Context(), &s.Status().Processes[0], silentMisses-1); got != FindingUnclear || len(helper.ran) > 0 {
		t.Errorf("it is %s after %q", got, helper.ran)
	}
	if got := s.Examine(t.Context(), &s.Status().Processes[0], silentMisses); got != FindingGone {
		t.Errorf("it is %s", got)
	}
}
