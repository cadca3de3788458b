package steps

import (
	"context"
	"slices"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
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

// What blocks a pod is tried again when a node agent comes, and not whenever it restarts.
func TestKeyHasNodeAgent(t *testing.T) {
	s := aSituation()
	keys := func(way v1alpha1.Transport) (none, ready, awaited, next string) {
		s.Exporter.Spec.Transport = way
		key := func(a NodeAgent) string { s.NodeAgent = a; return s.Key() }
		return key(NodeAgent{}), key(agentReady), key(agentAwaited), key(NodeAgent{Ready: true, UID: "next"})
	}
	if none, ready, awaited, next := keys(v1alpha1.TransportAuto); none == ready || ready != awaited || ready != next {
		t.Errorf("Auto: keys are %s, %s, %s, %s; want the first one alone to differ", none, ready, awaited, next)
	}
	if none, ready, _, next := keys(v1alpha1.TransportNode); none == ready || ready == next {
		t.Errorf("Node: keys are %s, %s, %s, want one for each agent", none, ready, next)
	}
	if none, ready, _, next := keys(v1alpha1.TransportExec); none != ready || ready != next {
		t.Errorf("Exec: keys are %s, %s, %s, want the same", none, ready, next)
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
