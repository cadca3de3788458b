package steps

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// soon is a node agent that is awaited for a while.
var soon = NodeAgent{Awaited: true, AwaitedFor: 40 * time.Second}

// withDoor adds an ephemeral container of the operator beside a container, in a state.
func (s *scene) withDoor(container string, state corev1.ContainerState) {
	name := transport.DoorPrefix + "12345678-1"
	s.Pod.Spec.EphemeralContainers = append(s.Pod.Spec.EphemeralContainers, corev1.EphemeralContainer{
		TargetContainerName: container, EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: name},
	})
	s.Pod.Status.EphemeralContainerStatuses = append(s.Pod.Status.EphemeralContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
}

// A pod is not changed for good while a node agent is awaited that needs no change, also where an
// ephemeral container runs, which may be of another release. Where the wait ends, one is used, or added.
func TestNoDoorWhileNodeAgentIsAwaited(t *testing.T) {
	type answers = map[string]func() (*helperapi.Report, error)
	const node, exec, door1 = v1alpha1.TransportNode, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer
	const pending = v1alpha1.ReasonNodeAgentPending
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	noShell, awaits := says(v1alpha1.ReasonNoShell), says(pending)
	running := &corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, tc := range map[string]struct {
		agent   NodeAgent
		asked   v1alpha1.Transport
		mode    v1alpha1.Mode
		named   []v1alpha1.ContainerName
		before  recorded
		door    *corev1.ContainerState
		answers answers
		ran     []string
		want    string
		after   time.Duration
		record  recorded
	}{
		"there is no shell":                     {agent: soon, answers: answers{"a": noShell, "a" + byNode: awaits}, ran: []string{"a", "a" + byNode}, want: pending, after: soon.AwaitedFor, record: recorded{node, v1alpha1.ReasonNoShell}},
		"the helper is not executable":          {agent: soon, answers: answers{"a": says(v1alpha1.ReasonHelperNotExecutable), "a" + byNode: awaits}, ran: []string{"a", "a" + byNode}, want: pending, after: soon.AwaitedFor, record: recorded{node, v1alpha1.ReasonHelperNotExecutable}},
		"it became ready just now":              {agent: soon, answers: answers{"a": noShell, "a" + byNode: jvm}, ran: []string{"a", "a" + byNode}, record: recorded{Transport: node}},
		"it went just now":                      {agent: soon, answers: answers{"a": noShell, "a" + byNode: says(v1alpha1.ReasonNodeAgentMissing), "a" + byExec: noShell, "a" + door: jvm}, ran: []string{"a", "a" + byNode, "a" + byExec, "a" + door}, record: recorded{door1, v1alpha1.ReasonNoShell}},
		"it is awaited still":                   {agent: soon, before: recorded{node, v1alpha1.ReasonNoShell}, answers: answers{"a" + byNode: awaits}, ran: []string{"a" + byNode}, want: pending, after: soon.AwaitedFor, record: recorded{node, v1alpha1.ReasonNoShell}},
		"it is ready at last":                   {agent: agentReady, before: recorded{node, v1alpha1.ReasonNoShell}, answers: answers{"a" + byNode: jvm}, ran: []string{"a" + byNode}, record: recorded{Transport: node}},
		"it is not awaited any more":            {before: recorded{node, v1alpha1.ReasonNoShell}, answers: answers{"a" + byExec: noShell, "a" + door: jvm}, ran: []string{"a" + byExec, "a" + door}, record: recorded{door1, v1alpha1.ReasonNoShell}},
		"it refused the container":              {agent: soon, before: recorded{exec, v1alpha1.ReasonNodeAgentRefused}, answers: answers{"a" + byExec: noShell, "a" + door: jvm}, ran: []string{"a" + byExec, "a" + door}, record: recorded{door1, v1alpha1.ReasonNodeAgentRefused}},
		"no time is known":                      {agent: agentAwaited, answers: answers{"a": noShell, "a" + byNode: awaits}, ran: []string{"a", "a" + byNode}, want: pending, record: recorded{node, v1alpha1.ReasonNoShell}},
		"mode Preflight waits, too":             {agent: soon, mode: v1alpha1.ModePreflight, answers: answers{"a": noShell, "a" + byNode: awaits}, ran: []string{"a", "a" + byNode}, want: pending, after: soon.AwaitedFor, record: recorded{node, v1alpha1.ReasonNoShell}},
		"a door is asked for":                   {agent: soon, asked: door1, answers: answers{"a" + door: jvm}, ran: []string{"a" + door}, record: recorded{Transport: door1}},
		"exec is asked for":                     {agent: soon, asked: exec, answers: answers{"a" + byExec: noShell}, ran: []string{"a" + byExec}, want: v1alpha1.ReasonNoShell, record: recorded{Transport: exec}},
		"a door runs":                           {agent: soon, before: recorded{door1, v1alpha1.ReasonNoShell}, door: running, answers: answers{"a" + byNode: awaits}, ran: []string{"a" + byNode}, want: pending, after: soon.AwaitedFor, record: recorded{Transport: node}},
		"a door runs, and none is awaited":      {before: recorded{door1, v1alpha1.ReasonNoShell}, door: running, answers: answers{"a" + door: jvm}, ran: []string{"a" + door}, record: recorded{door1, v1alpha1.ReasonNoShell}},
		"a door has ended":                      {agent: soon, before: recorded{door1, v1alpha1.ReasonNoShell}, door: &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}, answers: answers{"a" + byNode: awaits}, ran: []string{"a" + byNode}, want: pending, after: soon.AwaitedFor, record: recorded{Transport: node}},
		"a door has ended, and none is awaited": {before: recorded{door1, v1alpha1.ReasonNoShell}, door: &corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}, answers: answers{"a" + door: jvm}, ran: []string{"a" + door}, record: recorded{door1, v1alpha1.ReasonNoShell}},
		"two containers have no shell":          {agent: soon, answers: answers{"a": noShell, "a" + byNode: awaits, "b": noShell, "b" + byNode: awaits}, ran: []string{"a", "b", "a" + byNode, "b" + byNode}, want: pending, after: soon.AwaitedFor, record: recorded{node, v1alpha1.ReasonNoShell}},
		"a sidecar has no shell":                {agent: soon, answers: answers{"a": jvm, "b": noShell}, ran: []string{"a", "b"}},
		"another container fails":               {agent: soon, named: []v1alpha1.ContainerName{"a", "b"}, answers: answers{"a": noShell, "a" + byNode: awaits, "b": says(v1alpha1.ReasonExecFailed)}, ran: []string{"a", "b", "a" + byNode}, want: pending, record: recorded{node, v1alpha1.ReasonNoShell}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			for _, key := range slices.Sorted(maps.Keys(tc.answers)) {
				s.runs(key[:1])
			}
			s.NodeAgent, s.Exporter.Spec.Transport, s.Exporter.Spec.Mode, s.Exporter.Spec.Containers = tc.agent, tc.asked, tc.mode, tc.named
			if tc.before != (recorded{}) {
				entry := s.InspectedOrNew(pod.Running(s.Pod)[0])
				entry.Transport, entry.TransportReason = tc.before.Transport, tc.before.Reason
			}
			if tc.door != nil {
				s.withDoor("a", *tc.door)
			}
			helper := &byTransport{answers: tc.answers}
			s.Helper = helper
			got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation)
			if got.Reason != tc.want || got.RetryAfter != tc.after {
				t.Errorf("outcome: got %q (%s) and a retry after %s, want %q after %s", got.Reason, got.Message, got.RetryAfter, tc.want, tc.after)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper calls (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.record, recordedOf(s)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// A container that waits for a node agent is asked about at the next visit, whatever leads to
// it, and costs no exec of its own; a pod with other JVMs is visited when the wait ends.
func TestAwaitedContainerIsDue(t *testing.T) {
	s := aSituation(serving("b", 9400)).inspectedWell()
	s.runs("a")
	s.NodeAgent, s.Exporter.Spec.Containers = soon, []v1alpha1.ContainerName{"a", "b"}
	s.Inspected("b").Rules = rules(s.Exporter)
	noShell, awaits := says(v1alpha1.ReasonNoShell), says(v1alpha1.ReasonNodeAgentPending)
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": noShell, "a" + byNode: awaits}}
	s.Helper = helper
	for range 2 {
		if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Kind != statemachine.Done {
			t.Errorf("inspection: got %+v, want Done, since the other container has a JVM", got)
		}
		if after := s.inspectAfter(); after != soon.AwaitedFor {
			t.Errorf("next inspection: got after %s, want %s", after, soon.AwaitedFor)
		}
		if !s.inspectionDue() {
			t.Error("a visit because the node agent became ready would inspect nothing")
		}
		s.retryAfter = 0 // of the next reconcile
	}
	if want := "a, a" + byNode + ", a" + byNode; strings.Join(helper.ran, ", ") != want {
		t.Errorf("helper calls: got %q, want %q", helper.ran, want)
	}
}

// An agent that serves is not left in a pod because its ephemeral container ended: a pod that is
// detached does not wait for a node agent.
func TestDetachTakesDoorWhileNodeAgentIsAwaited(t *testing.T) {
	s := aSituation(serving("a", 9400)).inspectedWell()
	s.Inspected("a").Transport, s.NodeAgent, s.Exporter = v1alpha1.TransportEphemeralContainer, soon, nil
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + door: sees()}}
	s.Helper = helper
	if got := (Load{s.Tools}).Undo(t.Context(), s.jvm()); got.Kind != statemachine.Done {
		t.Errorf("got %+v after calls %q, want Done", got, helper.ran)
	}
}
