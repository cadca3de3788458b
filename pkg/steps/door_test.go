package steps

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// byTransport answers by container and transport, and records its calls.
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
	if answer := b.answers[key]; answer != nil {
		return answer()
	}
	return nil, fmt.Errorf("unexpected call %s", key)
}

// Open implements Helper.
func (*byTransport) Open(context.Context, transport.Container) error { return nil }

const door = " EphemeralContainer"

// Containers that are inspected by exec, and those that are inspected through an ephemeral container.
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
		want      string // reason of the outcome
	}{
		"exec is used if there is a shell":                        {answers: answers{"a": jvm}, ran: []string{"a"}},
		"an ephemeral container is used without a shell":          {answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: jvm}, ran: []string{"a", "a" + door}},
		"an ephemeral container is used if /tmp is noexec":        {answers: answers{"a": says(v1alpha1.ReasonHelperNotExecutable), "a" + door: jvm}, ran: []string{"a", "a" + door}},
		"a policy on execs applies to both":                       {answers: answers{"a": says(v1alpha1.ReasonExecRefused)}, ran: []string{"a"}, want: v1alpha1.ReasonExecRefused},
		"the ephemeral container takes time to start":             {answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: says(v1alpha1.ReasonDoorPending)}, ran: []string{"a", "a" + door}, want: v1alpha1.ReasonDoorPending},
		"an ephemeral container is not used where it cannot help": {answers: answers{"a": says(v1alpha1.ReasonTmpNotWritable)}, ran: []string{"a"}, want: v1alpha1.ReasonTmpNotWritable},
		"the exporter allows exec only":                           {transport: v1alpha1.TransportExec, answers: answers{"a Exec": says(v1alpha1.ReasonNoShell)}, ran: []string{"a Exec"}, want: v1alpha1.ReasonNoShell},
		"the exporter requires an ephemeral container":            {transport: v1alpha1.TransportEphemeralContainer, answers: answers{"a" + door: jvm}, ran: []string{"a" + door}},
		"no ephemeral container is added for a sidecar":           {answers: answers{"a": jvm, "b": says(v1alpha1.ReasonNoShell)}, ran: []string{"a", "b"}},
		"one ephemeral container is added at a time": {
			answers: answers{"a": says(v1alpha1.ReasonNoShell), "b": says(v1alpha1.ReasonNoShell), "a" + door: says(v1alpha1.ReasonDoorPending)},
			ran:     []string{"a", "b", "a" + door}, want: v1alpha1.ReasonDoorPending,
		},
		"a named container gets an ephemeral container": {
			named:   []v1alpha1.ContainerName{"a", "b"},
			answers: answers{"a": jvm, "b": says(v1alpha1.ReasonNoShell), "b" + door: jvm}, ran: []string{"a", "b", "b" + door},
		},
		"a JVM that may start in another container is awaited": {answers: answers{"a": sees(), "b": says(v1alpha1.ReasonNoShell)}, ran: []string{"a", "b"}, want: v1alpha1.ReasonNoJavaProcess},
		"a ready pod is not awaited":                           {ready: true, answers: answers{"a": sees(), "b": says(v1alpha1.ReasonNoShell), "b" + door: jvm}, ran: []string{"a", "b", "b" + door}},
		"a container that cannot be inspected yet is awaited":  {answers: answers{"a": says(v1alpha1.ReasonExecFailed), "b": says(v1alpha1.ReasonNoShell)}, ran: []string{"a", "b"}, want: v1alpha1.ReasonExecFailed},
		"the JVM's user is discovered first": {
			answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: mismatch, "a" + door + " as another user": jvm},
			ran:     []string{"a", "a" + door, "a" + door + " as another user"},
		},
		"the JVM's user is discovered once": {
			answers: answers{"a": says(v1alpha1.ReasonNoShell), "a" + door: mismatch, "a" + door + " as another user": mismatch},
			ran:     []string{"a", "a" + door, "a" + door + " as another user"}, want: v1alpha1.ReasonUserMismatch,
		},
		"no ephemeral container is added before the pod has a slot": {closed: v1alpha1.ReasonRolloutPending, answers: answers{"a": says(v1alpha1.ReasonNoShell)}, ran: []string{"a"}, want: v1alpha1.ReasonRolloutPending},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.Exporter.Spec.Transport, s.Exporter.Spec.Containers = tc.transport, tc.named
			if tc.ready {
				s.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.Now.Add(-time.Minute))}}
			}
			s.Granted = tc.closed == ""
			for key := range tc.answers {
				s.runs(key[:1])
			}
			if len(s.Pod.Spec.Containers) == 2 && s.Pod.Spec.Containers[0].Name == "b" { // map iteration has no order
				s.Pod.Spec.Containers[0], s.Pod.Spec.Containers[1] = s.Pod.Spec.Containers[1], s.Pod.Spec.Containers[0]
			}
			helper := &byTransport{answers: tc.answers}
			s.Helper = helper
			if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != tc.want {
				t.Errorf("reason: got %q (%s), want %q", got.Reason, got.Message, tc.want)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper calls (-want +got):\n%s", diff)
			}
		})
	}
}

// A JVM that was found through an ephemeral container is reached through it from then on,
// and the condition gives the reason.
func TestTransportStays(t *testing.T) {
	s := aSituation()
	s.runs("a")
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	s.Helper = &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": says(v1alpha1.ReasonNoShell), "a" + door: jvm}}
	(FindJava{s.Tools}).Ensure(t.Context(), s.Situation)
	if got := s.jvm().at().Transport; got != v1alpha1.TransportEphemeralContainer {
		t.Errorf("transport: got %q, want %q", got, v1alpha1.TransportEphemeralContainer)
	}
	want := "HotSpot runs a Java program in container a. Container a is reached through an ephemeral container (exec: NoShell)."
	if got := s.Held(JavaFound).Message; got != want {
		t.Errorf("message of JavaFound: got %q, want %q", got, want)
	}
}

// What is known about a container is kept when it is inspected again.
func TestTransportIsKept(t *testing.T) {
	s := aSituation(aProcess("a", 0)).inspectedWell()
	entry := s.Inspected("a")
	entry.Transport, entry.TransportReason, entry.User = v1alpha1.TransportEphemeralContainer, v1alpha1.ReasonNoShell, "5:6"
	s.InspectAgain("a")
	if at := s.at("a"); at.Transport != v1alpha1.TransportEphemeralContainer || at.User == nil {
		t.Errorf("transport and user of the container were lost: %+v", at)
	}
	if got := s.InspectedOrNew(pod.Running(s.Pod)[0]); got.TransportReason != v1alpha1.ReasonNoShell || got.User != "5:6" {
		t.Errorf("the status lost the transport reason or user: %+v", got)
	}
}

// In mode Preflight no ephemeral container is added, and a pod that was refused for that is
// retried in mode Attach.
func TestTransportAfterPreflight(t *testing.T) {
	s := aSituation()
	s.runs("a")
	s.Exporter.Spec.Mode = v1alpha1.ModePreflight
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": says(v1alpha1.ReasonNoShell), "a" + door: jvm}}
	s.Helper = helper
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != v1alpha1.ReasonNoShell || s.inspectionDue() {
		t.Errorf("mode Preflight: got reason %q, due %t, want NoShell and not due", got.Reason, s.inspectionDue())
	}
	s.Exporter.Spec.Mode = v1alpha1.ModeAttach
	if !s.inspectionDue() {
		t.Error("the pod that was refused in mode Preflight is not due in mode Attach")
	}
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Kind != statemachine.Done || s.inspectionDue() {
		t.Errorf("mode Attach: got reason %q after calls %q, due %t, want none and not due", got.Reason, helper.ran, s.inspectionDue())
	}
}

// No ephemeral container is added only to examine an endpoint that missed a check.
func TestExamineAddsNoDoor(t *testing.T) {
	s := aSituation(serving("a", 9400)).inspectedWell()
	s.Inspected("a").Transport = v1alpha1.TransportEphemeralContainer
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + door: says(v1alpha1.ReasonProcessGone)}}
	s.Helper = helper
	if got := s.Examine(t.Context(), s.Situation, &s.Status().Processes[0], silentMisses-1); got != FindingUnclear || len(helper.ran) > 0 {
		t.Errorf("Examine after one miss fewer: got %s after calls %q, want unclear without a call", got, helper.ran)
	}
	if got := s.Examine(t.Context(), s.Situation, &s.Status().Processes[0], silentMisses); got != FindingGone {
		t.Errorf("Examine: got %s, want %s", got, FindingGone)
	}
}
