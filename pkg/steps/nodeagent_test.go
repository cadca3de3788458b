package steps

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Mode Preflight leaves nothing in a pod that the node agent inspects.
func TestPreflightByNodeAgent(t *testing.T) {
	s := aSituation()
	s.runs("a")
	s.NodeAgent, s.Exporter.Spec.Mode = agentReady, v1alpha1.ModePreflight
	var asked []transport.Container
	s.Helper = helperFunc(func(_ context.Context, in transport.Container, _ helperapi.Verb, _ helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
		asked = append(asked, in)
		return &helperapi.Report{Processes: []helperapi.Process{{Target: aTarget, Implementation: "HotSpot"}}}, nil
	})
	if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Kind != statemachine.Done {
		t.Errorf("got %+v, want Done", got)
	}
	if len(asked) != 1 || asked[0].Transport != v1alpha1.TransportNode || !asked[0].Transient {
		t.Errorf("sessions: got %+v, want a transient one by the node agent", asked)
	}
	if !s.Inspected("a").HelperRemoved {
		t.Error("the record says that something was left")
	}
}

// What blocks a pod is tried again once for each node agent: the next one may have other flags,
// or be of another release.
func TestKeyHasNodeAgent(t *testing.T) {
	s := aSituation()
	for way, each := range map[v1alpha1.Transport]bool{
		v1alpha1.TransportAuto: true, v1alpha1.TransportNode: true, v1alpha1.TransportExec: false, v1alpha1.TransportEphemeralContainer: false,
	} {
		s.Exporter.Spec.Transport = way
		key := func(a NodeAgent) string { s.NodeAgent = a; return s.Key() }
		none, ready, next := key(NodeAgent{}), key(agentReady), key(agentNext)
		if (none != ready) != each || (ready != next) != each {
			t.Errorf("%s: keys without an agent, with one and with the next are %s, %s, %s; want them to differ: %t", way, none, ready, next, each)
		}
		if awaited := key(agentAwaited); awaited != ready {
			t.Errorf("%s: the key changes while the next agent is awaited", way)
		}
	}
}

// A pod that is blocked is tried once by the next node agent, and not while that is awaited.
func TestBlockedUntilNextNodeAgent(t *testing.T) {
	for _, way := range []v1alpha1.Transport{v1alpha1.TransportAuto, v1alpha1.TransportNode} {
		for _, reason := range []string{v1alpha1.ReasonNodeAgentRefused, v1alpha1.ReasonUserMismatch} {
			s := aSituation()
			s.runs("a")
			s.NodeAgent, s.Exporter.Spec.Transport = agentReady, way
			helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: says(reason), "a" + byExec: says(v1alpha1.ReasonTmpNotWritable)}}
			s.Helper = helper
			(FindJava{s.Tools}).Ensure(t.Context(), s.Situation)
			for _, step := range []struct {
				agent NodeAgent
				due   bool
			}{{agentReady, false}, {agentAwaited, false}, {agentNext, true}} {
				if s.NodeAgent = step.agent; s.inspectionDue() != step.due {
					t.Errorf("%s, %s, with agent %+v: due %t, want %t", way, reason, step.agent, s.inspectionDue(), step.due)
				}
			}
			helper.ran, s.withoutNode = nil, nil // the next reconcile
			(FindJava{s.Tools}).Ensure(t.Context(), s.Situation)
			if len(helper.ran) == 0 || helper.ran[0] != "a"+byNode {
				t.Errorf("%s, %s: the next agent is not asked first: calls are %q", way, reason, helper.ran)
			}
			if s.inspectionDue() {
				t.Errorf("%s, %s: the pod is due after the next agent failed, too", way, reason)
			}
		}
	}
}

// refusedBy has a node agent refuse a second container, where there is another one now.
func refusedBy(agent, now NodeAgent) func(*scene) {
	return func(s *scene) {
		s.runs("refused")
		s.Exporter.Spec.Transport, s.NodeAgent = v1alpha1.TransportNode, agent
		s.recordContainer(s.InspectedOrNew(pod.Running(s.Pod)[1]), record.NotDone(v1alpha1.ReasonNodeAgentRefused, "No."))
		s.NodeAgent = now
	}
}

// A refusal is remembered for the agent that refused. What the next one says replaces it.
func TestRefusalIsOfOneNodeAgent(t *testing.T) {
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	for name, tc := range map[string]struct {
		agent  NodeAgent
		by     types.UID
		node   func() (*helperapi.Report, error)
		ran    []string
		record recorded
		uid    types.UID
	}{
		"the same agent":                     {agent: agentReady, by: "agent", ran: []string{"a" + byExec}, record: recorded{v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentRefused}, uid: "agent"},
		"the same agent, which is restarted": {agent: agentAwaited, by: "agent", ran: []string{"a" + byExec}, record: recorded{v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentRefused}, uid: "agent"},
		"a record of an earlier operator":    {agent: agentReady, node: jvm, ran: []string{"a" + byNode}, record: recorded{Transport: v1alpha1.TransportNode}},
		"the next agent serves it":           {agent: agentNext, by: "agent", node: jvm, ran: []string{"a" + byNode}, record: recorded{Transport: v1alpha1.TransportNode}},
		"the next agent refuses it":          {agent: agentNext, by: "agent", node: says(v1alpha1.ReasonNodeAgentRefused), ran: []string{"a" + byNode, "a" + byExec}, record: recorded{v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentRefused}, uid: "next"},
		"the next agent has just gone":       {agent: agentNext, by: "agent", node: says(v1alpha1.ReasonNodeAgentMissing), ran: []string{"a" + byNode, "a" + byExec}, record: recorded{v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentMissing}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation(aProcess("a", 0)).inspectedWell()
			s.NodeAgent = tc.agent
			entry := s.Inspected("a")
			entry.Transport, entry.TransportReason, entry.NodeAgentUID = v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentRefused, tc.by
			helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: tc.node, "a" + byExec: jvm}}
			s.Helper = helper
			_, _ = s.run(t.Context(), s.Situation, s.at("a"), helperapi.VerbStatus, helperapi.Request{})
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper calls (-want +got):\n%s", diff)
			}
			if got := recordedOf(s); got != tc.record || s.Inspected("a").NodeAgentUID != tc.uid {
				t.Errorf("record: got %+v of agent %q, want %+v of %q", got, s.Inspected("a").NodeAgentUID, tc.record, tc.uid)
			}
		})
	}
	for _, reason := range []string{v1alpha1.ReasonNodeAgentRefused, v1alpha1.ReasonNodeAgentUndecided} {
		if !AwaitsNodeAgent(reason) {
			t.Errorf("a pod with %s is not visited when the next agent is ready", reason)
		}
	}
}

// Where the node agent alone is asked for and cannot tell whether it may serve a container, it
// is asked again with backoff: that is no property of the container.
func TestUndecidedIsRetried(t *testing.T) {
	s := aSituation()
	s.runs("a")
	s.NodeAgent, s.Exporter.Spec.Transport = agentReady, v1alpha1.TransportNode
	s.Helper = &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: says(v1alpha1.ReasonNodeAgentUndecided)}}
	(FindJava{s.Tools}).Ensure(t.Context(), s.Situation)
	entry := s.Inspected("a")
	if entry.Attempt == nil || entry.Attempt.NextTime == nil || s.inspectionDue() {
		t.Fatalf("after the first try: attempt %+v, due %t; want a later one", entry.Attempt, s.inspectionDue())
	}
	s.Now = *entry.Attempt.NextTime
	if !s.inspectionDue() {
		t.Error("it is not due when its time has come")
	}
}

// The node agent checks an endpoint that the operator cannot reach, and the record says so.
func TestExposeByNodeAgent(t *testing.T) {
	s := aSituation(with(serving("a", 9400), func(p *v1alpha1.JavaProcess) { p.Endpoint = nil })).inspectedWell()
	s.NodeAgent = agentReady
	s.Prober = probing{probe.ErrUnreachable}
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: sees()}}
	s.Helper = helper
	(Expose{s.Tools}).Ensure(t.Context(), s.jvm())
	if e := s.jvm().Process.Endpoint; e == nil || e.CheckedFrom != v1alpha1.CheckedFromNode {
		t.Fatalf("endpoint: got %+v, want one that is checked from the node", e)
	}
	held := s.Held(Exposed).Message
	for _, words := range []string{"The node agent checks that the JVM listens there", "NetworkPolicy"} {
		if !strings.Contains(held, words) {
			t.Errorf("message of Exposed: got %q, want %q in it", held, words)
		}
	}
}

// Where a policy denies what a transport needs, the message names the one that does not need it.
func TestNodeAgentHelps(t *testing.T) {
	for reason, helps := range map[string]bool{
		v1alpha1.ReasonExecRefused: true, v1alpha1.ReasonExecForbidden: true, v1alpha1.ReasonTmpNotWritable: false, v1alpha1.ReasonExecFailed: false,
	} {
		s := aSituation()
		s.runs("a")
		s.Helper = &byTransport{answers: map[string]func() (*helperapi.Report, error){"a": says(reason), "a" + byExec: says(reason)}}
		got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation)
		if strings.Contains(got.Message, "config/node") != helps {
			t.Errorf("%s: message names node agents: got %q", reason, got.Message)
		}
		s.Transport = v1alpha1.TransportExec // it may not use them
		if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); strings.Contains(got.Message, "config/node") {
			t.Errorf("%s: message of an operator without node agents names them: %q", reason, got.Message)
		}
	}
}

// The node agent is asked about a silent endpoint at once, also where an ephemeral container
// was used before: none is added for that.
func TestExamineByNodeAgent(t *testing.T) {
	s := aSituation(serving("a", 9400)).inspectedWell()
	s.Inspected("a").Transport, s.NodeAgent = v1alpha1.TransportEphemeralContainer, agentReady
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byNode: says(v1alpha1.ReasonProcessGone)}}
	s.Helper = helper
	if got := s.Examine(t.Context(), s.Situation, &s.Status().Processes[0], 1); got != FindingGone {
		t.Errorf("Examine: got %s after calls %q, want %s", got, helper.ran, FindingGone)
	}
}

// Where neither the node agent nor exec serves a container any more, none is added to the pod
// only to examine an endpoint that missed a check.
func TestExamineByNodeAgentAddsNoDoor(t *testing.T) {
	s := aSituation(serving("a", 9400)).inspectedWell()
	s.Inspected("a").Transport, s.NodeAgent = v1alpha1.TransportNode, agentReady
	helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){
		"a" + byNode: says(v1alpha1.ReasonNodeAgentMissing), "a Exec": says(v1alpha1.ReasonNoShell), "a" + door: says(v1alpha1.ReasonProcessGone),
	}}
	s.Helper = helper
	if got := s.Examine(t.Context(), s.Situation, &s.Status().Processes[0], silentMisses-1); got != FindingUnclear || slices.Contains(helper.ran, "a"+door) {
		t.Errorf("Examine after one miss fewer: got %s after calls %q, want unclear without an ephemeral container", got, helper.ran)
	}
}
