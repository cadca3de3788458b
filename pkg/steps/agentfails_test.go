package steps

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// opensNone is the answer of a node agent that fails before it serves a container.
func opensNone(reason string) func() (*helperapi.Report, error) {
	return func() (*helperapi.Report, error) {
		return nil, &transport.Error{Reason: reason, Message: "No session.", Err: fmt.Errorf("%w: gone", transport.ErrNotOpened)}
	}
}

// next begins the reconcile after the backoff of the container a.
func (s *scene) next(t *testing.T) {
	t.Helper()
	s.withoutNode = nil
	if entry := s.Inspected("a"); entry.Attempt != nil {
		if entry.Attempt.NextTime == nil {
			t.Fatalf("%s is not retried", entry.Reason)
		}
		s.Now = *entry.Attempt.NextTime
	}
}

// seen is what a try by FindJava did.
type seen struct {
	Ran    []string
	Reason string
}

// inspections returns what n reconciles of FindJava do, each at its time.
func (s *scene) inspections(t *testing.T, n int, answers map[string]func() (*helperapi.Report, error)) []seen {
	t.Helper()
	var all []seen
	for range n {
		helper := &byTransport{answers: answers}
		s.Helper = helper
		outcome := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation)
		all = append(all, seen{helper.ran, outcome.Reason})
		s.next(t)
	}
	return all
}

// times repeats what was seen.
func times(n int, what seen) (all []seen) {
	for range n {
		all = append(all, what)
	}
	return all
}

// A node agent that is ready, and fails each time before it serves a container, keeps that from
// being attached to for some tries only: then Auto takes exec. It is asked first at each visit,
// and preferred as soon as it serves the container.
func TestNodeAgentIsGivenUp(t *testing.T) {
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	for _, reason := range []string{v1alpha1.ReasonExecFailed, v1alpha1.ReasonHelperFailed, v1alpha1.ReasonHelperKilled, v1alpha1.ReasonContainerNotResponding, v1alpha1.ReasonNodeAgentPending} {
		t.Run(reason, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.NodeAgent = agentReady
			got := s.inspections(t, 4, map[string]func() (*helperapi.Report, error){"a" + byNode: opensNone(reason), "a" + byExec: jvm})
			want := append(times(3, seen{[]string{"a" + byNode}, reason}), seen{Ran: []string{"a" + byNode, "a" + byExec}})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inspections (-want +got):\n%s", diff)
			}
			for _, step := range []struct {
				what   string
				agent  NodeAgent
				node   func() (*helperapi.Report, error)
				ran    []string
				record recorded
			}{
				{"it fails still", agentReady, opensNone(reason), []string{"a" + byNode, "a" + byExec}, recorded{v1alpha1.TransportExec, reason}},
				{"it is restarted", agentAwaited, nil, []string{"a" + byExec}, recorded{v1alpha1.TransportExec, reason}},
				{"the next one fails for the first time", agentNext, opensNone(reason), []string{"a" + byNode}, recorded{v1alpha1.TransportExec, reason}},
				{"it serves the container again", agentReady, jvm, []string{"a" + byNode}, recorded{Transport: v1alpha1.TransportNode}},
				{"it fails again, for the first time", agentReady, opensNone(reason), []string{"a" + byNode}, recorded{Transport: v1alpha1.TransportNode}},
			} {
				helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: step.node, "a" + byExec: jvm}}
				s.Helper, s.NodeAgent, s.withoutNode = helper, step.agent, nil
				_, _ = s.run(t.Context(), s.Situation, s.at("a"), helperapi.VerbStatus, helperapi.Request{})
				if diff := cmp.Diff(step.ran, helper.ran); diff != "" {
					t.Errorf("%s: helper calls (-want +got):\n%s", step.what, diff)
				}
				if got := recordedOf(s); got != step.record {
					t.Errorf("%s: record: got %+v, want %+v", step.what, got, step.record)
				}
			}
		})
	}
}

// A node agent is not given up for what is the container's, for what may have been executed, or
// where no other transport may be used or reaches the container: it is retried with backoff.
func TestNodeAgentIsKept(t *testing.T) {
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	noShell := []string{"a" + byNode, "a" + byExec}
	only := []string{"a" + byNode}
	for name, tc := range map[string]struct {
		asked v1alpha1.Transport
		node  func() (*helperapi.Report, error)
		exec  func() (*helperapi.Report, error)
		want  []seen
	}{
		"it was lost during an operation": {node: says(v1alpha1.ReasonExecFailed), exec: jvm, want: times(7, seen{only, v1alpha1.ReasonExecFailed})},
		"processes of the container hang": {node: says(v1alpha1.ReasonContainerNotResponding), exec: jvm, want: times(7, seen{only, v1alpha1.ReasonContainerNotResponding})},
		"it alone is asked for":           {asked: v1alpha1.TransportNode, node: opensNone(v1alpha1.ReasonExecFailed), want: times(7, seen{only, v1alpha1.ReasonExecFailed})},
		"there is no shell, and no door in passing": {node: opensNone(v1alpha1.ReasonExecFailed), exec: says(v1alpha1.ReasonNoShell),
			want: append(times(3, seen{only, v1alpha1.ReasonExecFailed}), times(4, seen{noShell, v1alpha1.ReasonExecFailed})...)},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.NodeAgent, s.Exporter.Spec.Transport = agentReady, tc.asked
			got := s.inspections(t, 7, map[string]func() (*helperapi.Report, error){"a" + byNode: tc.node, "a" + byExec: tc.exec})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("inspections (-want +got):\n%s", diff)
			}
			if got := recordedOf(s); got != (recorded{Transport: v1alpha1.TransportNode}) {
				t.Errorf("record: got %+v, want Node", got)
			}
		})
	}
	t.Run("each is another one", func(t *testing.T) {
		s := aSituation()
		s.runs("a")
		answers := map[string]func() (*helperapi.Report, error){"a" + byNode: opensNone(v1alpha1.ReasonExecFailed), "a" + byExec: jvm}
		for _, agent := range []NodeAgent{agentReady, agentNext, agentReady} {
			s.NodeAgent = agent
			if diff := cmp.Diff(times(3, seen{only, v1alpha1.ReasonExecFailed}), s.inspections(t, 3, answers)); diff != "" {
				t.Errorf("inspections (-want +got):\n%s", diff)
			}
		}
	})
}

// What a JVM's own steps fail at counts, too, also in a detach. No ephemeral container is added
// where the record knows that exec led to the agent, or while an agent of another release is about
// to be replaced and nothing is lost by waiting.
func TestNodeAgentIsGivenUpForJVM(t *testing.T) {
	const undo = "undo " + v1alpha1.ReasonDetaching
	noShell, jvm := says(v1alpha1.ReasonNoShell), sees()
	for name, tc := range map[string]struct {
		reason string
		count  int32
		key    string // empty for the current one
		detach bool
		node   string // the reason why it fails; empty for the same
		exec   func() (*helperapi.Report, error)
		ran    []string
		want   string
		record recorded
	}{
		"three tries before":           {reason: v1alpha1.ReasonExecFailed, count: 3, exec: jvm, ran: []string{"a" + byNode, "a" + byExec}, record: recorded{v1alpha1.TransportExec, v1alpha1.ReasonExecFailed}},
		"two tries before":             {reason: v1alpha1.ReasonExecFailed, count: 2, exec: jvm, ran: []string{"a" + byNode}, want: v1alpha1.ReasonExecFailed, record: recorded{Transport: v1alpha1.TransportNode}},
		"tries with another key":       {reason: v1alpha1.ReasonExecFailed, count: 9, key: "before", exec: jvm, ran: []string{"a" + byNode}, want: v1alpha1.ReasonExecFailed, record: recorded{Transport: v1alpha1.TransportNode}},
		"it failed for the JVM's sake": {reason: v1alpha1.ReasonPortInUse, count: 9, node: v1alpha1.ReasonExecFailed, exec: jvm, ran: []string{"a" + byNode}, want: v1alpha1.ReasonExecFailed, record: recorded{Transport: v1alpha1.TransportNode}},
		"a detach":                     {reason: v1alpha1.ReasonExecFailed, count: 3, key: undo, detach: true, exec: jvm, ran: []string{"a" + byNode, "a" + byExec}, record: recorded{v1alpha1.TransportExec, v1alpha1.ReasonExecFailed}},
		"a detach without a shell":     {reason: v1alpha1.ReasonExecFailed, count: 3, key: undo, detach: true, exec: noShell, ran: []string{"a" + byNode, "a" + byExec, "a" + door}, record: recorded{v1alpha1.TransportEphemeralContainer, v1alpha1.ReasonExecFailed}},
		"a change without a shell":     {reason: v1alpha1.ReasonExecFailed, count: 3, exec: noShell, ran: []string{"a" + byNode, "a" + byExec, "a" + door}, record: recorded{v1alpha1.TransportEphemeralContainer, v1alpha1.ReasonExecFailed}},
		"another release, no shell":    {reason: v1alpha1.ReasonNodeAgentPending, count: 9, exec: noShell, ran: []string{"a" + byNode, "a" + byExec}, want: v1alpha1.ReasonNodeAgentPending, record: recorded{Transport: v1alpha1.TransportNode}},
		"another release":              {reason: v1alpha1.ReasonNodeAgentPending, count: 9, exec: jvm, ran: []string{"a" + byNode, "a" + byExec}, record: recorded{v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentPending}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation(serving("a", 9400)).inspectedWell()
			s.Inspected("a").Transport, s.NodeAgent = v1alpha1.TransportNode, agentReady
			if tc.key == "" {
				tc.key = s.Key()
			}
			p := s.jvm().Process
			p.Reason, p.Attempt = tc.reason, &v1alpha1.Attempt{Key: tc.key, Phase: v1alpha1.PhaseStaged, Count: tc.count}
			if tc.detach {
				s.Exporter = nil
			}
			if tc.node == "" {
				tc.node = tc.reason
			}
			helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: opensNone(tc.node), "a" + byExec: tc.exec, "a" + door: jvm}}
			s.Helper = helper
			_, err := s.run(t.Context(), s.Situation, s.at("a"), helperapi.VerbStatus, helperapi.Request{})
			if got := reasonOf(err); got != tc.want {
				t.Errorf("reason: got %q, want %q", got, tc.want)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper calls (-want +got):\n%s", diff)
			}
			if got := recordedOf(s); got != tc.record {
				t.Errorf("record: got %+v, want %+v", got, tc.record)
			}
			helper.ran = nil
			_, _ = s.run(t.Context(), s.Situation, s.at("a"), helperapi.VerbStatus, helperapi.Request{})
			if asked := len(helper.ran) > 0 && helper.ran[0] == "a"+byNode; asked != (tc.want != "") {
				t.Errorf("the next operation of the reconcile asks the agent: %t; calls %q", asked, helper.ran)
			}
		})
	}
}

// A node agent of another release than the operator's is waited for, and its successor is asked
// at once.
func TestNodeAgentOfAnotherRelease(t *testing.T) {
	other := func() (*helperapi.Report, error) {
		return nil, &transport.Error{Reason: v1alpha1.ReasonNodeAgentPending, Message: "Another release.", Err: fmt.Errorf("%w: %w", transport.ErrNotOpened, transport.ErrAgentRelease)}
	}
	for _, way := range []v1alpha1.Transport{v1alpha1.TransportAuto, v1alpha1.TransportNode} {
		s := aSituation()
		s.runs("a")
		s.NodeAgent, s.Exporter.Spec.Transport = agentReady, way
		answers := map[string]func() (*helperapi.Report, error){"a" + byNode: other, "a" + byExec: says(v1alpha1.ReasonNoShell)}
		for _, got := range s.inspections(t, 6, answers) {
			if got.Reason != v1alpha1.ReasonNodeAgentPending || got.Ran[0] != "a"+byNode {
				t.Errorf("%s: got %+v, want NodeAgentPending", way, got)
			}
		}
		s.Helper = &byTransport{answers: answers}
		if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Kind != statemachine.Pending {
			t.Errorf("%s: outcome: got %+v, want Pending", way, got)
		}
		s.withoutNode = nil
		for _, step := range []struct {
			agent NodeAgent
			due   bool
		}{{agentReady, false}, {agentAwaited, false}, {agentNext, true}} {
			if s.NodeAgent = step.agent; s.inspectionDue() != step.due {
				t.Errorf("%s, with agent %+v: due %t, want %t", way, step.agent, s.inspectionDue(), step.due)
			}
		}
		answers["a"+byNode] = sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
		if diff := cmp.Diff([]seen{{Ran: []string{"a" + byNode}}}, s.inspections(t, 1, answers)); diff != "" {
			t.Errorf("%s: inspection by the next agent (-want +got):\n%s", way, diff)
		}
		if !AwaitsNodeAgent(v1alpha1.ReasonNodeAgentPending) {
			t.Error("the pod is not visited when the next agent is ready")
		}
	}
}
