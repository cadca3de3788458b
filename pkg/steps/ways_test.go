package steps

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

const byNode, byExec = " Node", " Exec"

var (
	agentReady   = NodeAgent{Ready: true, UID: "agent"}
	agentAwaited = NodeAgent{Awaited: true, UID: "agent"} // the same, restarted
	agentNext    = NodeAgent{Ready: true, UID: "next"}
)

// recorded is what a record says of how a container is reached.
type recorded struct {
	Transport v1alpha1.Transport
	Reason    string
}

func recordedOf(s *scene) recorded {
	entry := s.Inspected("a")
	return recorded{entry.Transport, entry.TransportReason}
}

// Auto prefers the node agent, then exec, then an ephemeral container; the record says which
// one was taken, and why not the one before it.
func TestWays(t *testing.T) {
	type answers = map[string]func() (*helperapi.Report, error)
	const node, exec, door1 = v1alpha1.TransportNode, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer
	jvm := sees(helperapi.Process{Target: aTarget, Implementation: "HotSpot"})
	refused, missing, noShell := says(v1alpha1.ReasonNodeAgentRefused), says(v1alpha1.ReasonNodeAgentMissing), says(v1alpha1.ReasonNoShell)
	for name, tc := range map[string]struct {
		agent          NodeAgent
		allowed, asked v1alpha1.Transport
		mode           v1alpha1.Mode
		before         recorded
		answers        answers
		ran            []string
		want           string
		record         recorded
	}{
		"a node agent is preferred":                           {agent: agentReady, answers: answers{"a" + byNode: jvm}, ran: []string{"a" + byNode}, record: recorded{Transport: node}},
		"there is none":                                       {answers: answers{"a": jvm}, ran: []string{"a"}},
		"one is about to come, and exec is as good":           {agent: agentAwaited, answers: answers{"a": jvm}, ran: []string{"a"}},
		"exec is asked for":                                   {agent: agentReady, asked: exec, answers: answers{"a" + byExec: jvm}, ran: []string{"a" + byExec}, record: recorded{Transport: exec}},
		"an ephemeral container is asked for":                 {agent: agentReady, asked: door1, answers: answers{"a" + door: jvm}, ran: []string{"a" + door}, record: recorded{Transport: door1}},
		"it is asked for":                                     {agent: agentReady, asked: node, answers: answers{"a" + byNode: jvm}, ran: []string{"a" + byNode}, record: recorded{Transport: node}},
		"it is asked for, and there is none":                  {asked: node, answers: answers{"a" + byNode: missing}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonNodeAgentMissing, record: recorded{Transport: node}},
		"it is asked for, and refuses":                        {agent: agentReady, asked: node, answers: answers{"a" + byNode: refused}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonNodeAgentRefused, record: recorded{Transport: node}},
		"it alone is allowed":                                 {agent: agentReady, allowed: node, answers: answers{"a" + byNode: jvm}, ran: []string{"a" + byNode}, record: recorded{Transport: node}},
		"it alone is allowed, and there is none":              {allowed: node, answers: answers{"a" + byNode: missing}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonNodeAgentMissing, record: recorded{Transport: node}},
		"it refuses":                                          {agent: agentReady, answers: answers{"a" + byNode: refused, "a" + byExec: jvm}, ran: []string{"a" + byNode, "a" + byExec}, record: recorded{exec, v1alpha1.ReasonNodeAgentRefused}},
		"it cannot tell":                                      {agent: agentReady, answers: answers{"a" + byNode: says(v1alpha1.ReasonNodeAgentUndecided), "a" + byExec: jvm}, ran: []string{"a" + byNode, "a" + byExec}, record: recorded{exec, v1alpha1.ReasonNodeAgentUndecided}},
		"it could not tell before":                            {agent: agentReady, before: recorded{exec, v1alpha1.ReasonNodeAgentUndecided}, answers: answers{"a" + byNode: jvm}, ran: []string{"a" + byNode}, record: recorded{Transport: node}},
		"it is asked for, and cannot tell":                    {agent: agentReady, asked: node, answers: answers{"a" + byNode: says(v1alpha1.ReasonNodeAgentUndecided)}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonNodeAgentUndecided, record: recorded{Transport: node}},
		"it refused before":                                   {agent: agentReady, before: recorded{exec, v1alpha1.ReasonNodeAgentRefused}, answers: answers{"a" + byExec: jvm}, ran: []string{"a" + byExec}, record: recorded{exec, v1alpha1.ReasonNodeAgentRefused}},
		"it refuses, and there is no shell":                   {agent: agentReady, answers: answers{"a" + byNode: refused, "a" + byExec: noShell, "a" + door: jvm}, ran: []string{"a" + byNode, "a" + byExec, "a" + door}, record: recorded{door1, v1alpha1.ReasonNodeAgentRefused}},
		"it refuses, without a shell, in mode Preflight":      {agent: agentReady, mode: v1alpha1.ModePreflight, answers: answers{"a" + byNode: refused, "a" + byExec: noShell}, ran: []string{"a" + byNode, "a" + byExec}, want: v1alpha1.ReasonNoShell, record: recorded{exec, v1alpha1.ReasonNodeAgentRefused}},
		"it has just gone":                                    {agent: agentReady, answers: answers{"a" + byNode: missing, "a" + byExec: jvm}, ran: []string{"a" + byNode, "a" + byExec}, record: recorded{exec, v1alpha1.ReasonNodeAgentMissing}},
		"the operator may not exec into it":                   {agent: agentReady, answers: answers{"a" + byNode: says(v1alpha1.ReasonExecForbidden), "a" + byExec: jvm}, ran: []string{"a" + byNode, "a" + byExec}, record: recorded{exec, v1alpha1.ReasonExecForbidden}},
		"it is restarted, and was used":                       {agent: agentAwaited, before: recorded{Transport: node}, answers: answers{"a" + byNode: says(v1alpha1.ReasonNodeAgentPending)}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonNodeAgentPending, record: recorded{Transport: node}},
		"it is gone for long, and was used":                   {before: recorded{Transport: node}, answers: answers{"a" + byExec: jvm}, ran: []string{"a" + byExec}, record: recorded{exec, v1alpha1.ReasonNodeAgentMissing}},
		"it is gone for long, and there is no shell":          {before: recorded{Transport: node}, answers: answers{"a" + byExec: noShell, "a" + door: jvm}, ran: []string{"a" + byExec, "a" + door}, record: recorded{door1, v1alpha1.ReasonNoShell}},
		"it comes, and an ephemeral container was used":       {agent: agentReady, before: recorded{door1, v1alpha1.ReasonNoShell}, answers: answers{"a" + byNode: jvm}, ran: []string{"a" + byNode}, record: recorded{Transport: node}},
		"it fails in another way":                             {agent: agentReady, answers: answers{"a" + byNode: says(v1alpha1.ReasonExecFailed)}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonExecFailed, record: recorded{Transport: node}},
		"the JVM cannot be attached to by any transport":      {agent: agentReady, answers: answers{"a" + byNode: says(v1alpha1.ReasonTmpNotWritable)}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonTmpNotWritable, record: recorded{Transport: node}},
		"it sees a container without a shell in Preflight":    {agent: agentReady, mode: v1alpha1.ModePreflight, answers: answers{"a" + byNode: jvm}, ran: []string{"a" + byNode}, record: recorded{Transport: node}},
		"no exec is allowed, and an exporter asks for one":    {agent: agentReady, allowed: node, asked: exec, want: v1alpha1.ReasonTransportForbidden},
		"no node agent is allowed, and an exporter asks it":   {agent: agentReady, allowed: exec, asked: node, want: v1alpha1.ReasonTransportForbidden},
		"no node agent is allowed, and Auto does not take it": {agent: agentReady, allowed: exec, answers: answers{"a" + byExec: jvm}, ran: []string{"a" + byExec}, record: recorded{Transport: exec}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.runs("a")
			s.NodeAgent, s.Transport, s.Exporter.Spec.Transport, s.Exporter.Spec.Mode = tc.agent, tc.allowed, tc.asked, tc.mode
			if tc.before != (recorded{}) {
				entry := s.InspectedOrNew(pod.Running(s.Pod)[0])
				entry.Transport, entry.TransportReason = tc.before.Transport, tc.before.Reason
				if tc.before.Reason == v1alpha1.ReasonNodeAgentRefused {
					entry.NodeAgentUID = agentReady.UID
				}
			}
			helper := &byTransport{answers: tc.answers}
			s.Helper = helper
			if got := (FindJava{s.Tools}).Ensure(t.Context(), s.Situation); got.Reason != tc.want {
				t.Errorf("reason: got %q (%s), want %q", got.Reason, got.Message, tc.want)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper calls (-want +got):\n%s", diff)
			}
			if tc.want == v1alpha1.ReasonTransportForbidden {
				return
			}
			if diff := cmp.Diff(tc.record, recordedOf(s)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// A refusal of the node agent is of this instance of the container: the next one is asked about.
func TestRefusalOfNodeAgentEnds(t *testing.T) {
	s := aSituation(aProcess("a", 0)).inspectedWell()
	entry := s.Inspected("a")
	entry.Transport, entry.TransportReason, entry.NodeAgentUID = v1alpha1.TransportExec, v1alpha1.ReasonNodeAgentRefused, agentReady.UID
	s.NodeAgent = agentReady
	if got := s.at("a").Transport; got != v1alpha1.TransportExec {
		t.Errorf("transport of the container that was refused: got %q, want Exec", got)
	}
	s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://next"
	s.InspectedOrNew(pod.Running(s.Pod)[0])
	if got := s.at("a").Transport; got != v1alpha1.TransportNode {
		t.Errorf("transport of the next instance: got %q, want Node", got)
	}
}

// A JVM that is attached to is reached by another transport without another load: nothing of it
// goes back, and the next change asks the same of the new transport.
func TestMovesWithoutLoad(t *testing.T) {
	const node, exec, throughDoor = v1alpha1.TransportNode, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer
	none := NodeAgent{}
	for name, tc := range map[string]struct {
		before recorded
		agent  NodeAgent
		asked  v1alpha1.Transport
		// fails are the transports that cannot reach the container.
		fails map[v1alpha1.Transport]string
		want  recorded
	}{
		"from exec to the node agent":                     {before: recorded{}, agent: agentReady, want: recorded{Transport: node}},
		"from an ephemeral container to the node agent":   {before: recorded{throughDoor, v1alpha1.ReasonNoShell}, agent: agentReady, want: recorded{Transport: node}},
		"from the node agent to exec":                     {before: recorded{Transport: node}, agent: none, want: recorded{exec, v1alpha1.ReasonNodeAgentMissing}},
		"from the node agent to an ephemeral container":   {before: recorded{Transport: node}, agent: none, fails: map[v1alpha1.Transport]string{exec: v1alpha1.ReasonNoShell}, want: recorded{throughDoor, v1alpha1.ReasonNoShell}},
		"from a node agent that refuses to exec":          {before: recorded{Transport: node}, agent: agentReady, fails: map[v1alpha1.Transport]string{node: v1alpha1.ReasonNodeAgentRefused}, want: recorded{exec, v1alpha1.ReasonNodeAgentRefused}},
		"from exec to an ephemeral container, by request": {before: recorded{}, agent: agentReady, asked: throughDoor, want: recorded{Transport: throughDoor}},
		"from an ephemeral container to exec, by request": {before: recorded{throughDoor, v1alpha1.ReasonNoShell}, asked: exec, want: recorded{Transport: exec}},
		"from the node agent to exec, by request":         {before: recorded{Transport: node}, agent: agentReady, asked: exec, want: recorded{Transport: exec}},
		"from exec to the node agent, by request":         {before: recorded{Transport: exec}, agent: agentReady, asked: node, want: recorded{Transport: node}},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation(serving("a", 9400)).inspectedWell().published().annotatedBy("jmx-exporter-operator", "9400")
			s.State.Phase = statemachine.Phase(v1alpha1.PhaseAnnotated)
			s.NodeAgent, s.Exporter.Spec.Transport = tc.agent, tc.asked
			entry := s.Inspected("a")
			entry.Transport, entry.TransportReason = tc.before.Transport, tc.before.Reason
			moves, err := Regress(s.Situation)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range moves {
				switch m.(type) {
				case RegressJVM, Inspect:
					t.Errorf("the move leads to %T, want nothing to happen", m)
				}
			}
			var loads []v1alpha1.Transport
			s.Helper = helperFunc(func(_ context.Context, in transport.Container, _ helperapi.Verb, _ helperapi.Request, _ ...transport.Blob) (*helperapi.Report, error) {
				way := in.Transport
				if way == "" {
					way = exec
				}
				if reason := tc.fails[way]; reason != "" {
					return nil, &transport.Error{Reason: reason, Message: "No."}
				}
				loads = append(loads, way)
				p := s.Status().Processes[0]
				return &helperapi.Report{Processes: []helperapi.Process{{Target: aTarget, Mark: &helperapi.Mark{
					State: helperapi.AgentRunning, Port: 9400, ConfigSHA256: s.Config.SHA256, ImplementationSHA256: p.ImplementationSHA256,
				}}}}, nil
			})
			s.Config.Blob = blob("another")
			s.Status().Processes[0].Staged.ConfigSHA256 = s.Config.SHA256
			s.Status().Processes[0].Intent.ConfigSHA256 = s.Config.SHA256
			if got := (Load{s.Tools}).Ensure(t.Context(), s.jvm()); got.Kind != statemachine.Done {
				t.Errorf("change of the configuration: got %+v, want Done", got)
			}
			if diff := cmp.Diff([]v1alpha1.Transport{tc.want.Transport}, loads); diff != "" {
				t.Errorf("transports of the change (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, recordedOf(s)); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod is detached by any transport that the operator may use.
func TestDetachByAnyWay(t *testing.T) {
	const node, exec = v1alpha1.TransportNode, v1alpha1.TransportExec
	noShell := says(v1alpha1.ReasonNoShell)
	for name, tc := range map[string]struct {
		before  v1alpha1.Transport
		allowed v1alpha1.Transport
		agent   NodeAgent
		answers map[string]func() (*helperapi.Report, error)
		ran     []string
		want    string
	}{
		"attached by exec, node agents alone are allowed":              {allowed: node, agent: agentReady, answers: map[string]func() (*helperapi.Report, error){"a" + byNode: sees()}, ran: []string{"a" + byNode}},
		"attached by the node agent, exec alone is allowed":            {before: node, allowed: exec, agent: agentReady, answers: map[string]func() (*helperapi.Report, error){"a" + byExec: sees()}, ran: []string{"a" + byExec}},
		"attached by the node agent, which is gone":                    {before: node, answers: map[string]func() (*helperapi.Report, error){"a" + byExec: sees()}, ran: []string{"a" + byExec}},
		"attached by the node agent, which is gone, without a shell":   {before: node, answers: map[string]func() (*helperapi.Report, error){"a" + byExec: noShell, "a" + door: says(v1alpha1.ReasonDoorPending)}, ran: []string{"a" + byExec, "a" + door}, want: v1alpha1.ReasonDoorPending},
		"attached by exec, whose shell is gone":                        {answers: map[string]func() (*helperapi.Report, error){"a": noShell}, ran: []string{"a"}, want: v1alpha1.ReasonNoShell},
		"attached by exec, and there is a node agent":                  {agent: agentReady, answers: map[string]func() (*helperapi.Report, error){"a" + byNode: sees()}, ran: []string{"a" + byNode}},
		"attached by exec, and the node agent refuses the container":   {agent: agentReady, answers: map[string]func() (*helperapi.Report, error){"a" + byNode: says(v1alpha1.ReasonNodeAgentRefused), "a" + byExec: sees()}, ran: []string{"a" + byNode, "a" + byExec}},
		"attached by the node agent, which alone is allowed, and gone": {before: node, allowed: node, answers: map[string]func() (*helperapi.Report, error){"a" + byNode: says(v1alpha1.ReasonNodeAgentMissing)}, ran: []string{"a" + byNode}, want: v1alpha1.ReasonNodeAgentMissing},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation(serving("a", 9400)).inspectedWell()
			s.Inspected("a").Transport, s.Transport, s.NodeAgent = tc.before, tc.allowed, tc.agent
			s.Exporter = nil
			helper := &byTransport{answers: tc.answers}
			s.Helper = helper
			if got := (Load{s.Tools}).Undo(t.Context(), s.jvm()); got.Reason != tc.want {
				t.Errorf("reason: got %q (%s), want %q", got.Reason, got.Message, tc.want)
			}
			if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
				t.Errorf("helper calls (-want +got):\n%s", diff)
			}
		})
	}
}

// An operation changes a pod for good only where an agent may be that no other transport reaches:
// never for a JVM that is not attached to, whose pod has to wait for its turn, and never in mode
// Preflight.
func TestNoDoorInPassing(t *testing.T) {
	for name, tc := range map[string]struct {
		process v1alpha1.JavaProcess
		mode    v1alpha1.Mode
		ran     []string
	}{
		"the JVM serves":                     {process: serving("a", 9400), ran: []string{"a" + byExec, "a" + door}},
		"the JVM serves, in mode Preflight":  {process: serving("a", 9400), mode: v1alpha1.ModePreflight, ran: []string{"a" + byExec}},
		"the JVM was found, and has nothing": {process: aProcess("a", 0), ran: []string{"a" + byExec}},
	} {
		s := aSituation(tc.process).inspectedWell()
		s.Inspected("a").Transport, s.Exporter.Spec.Mode = v1alpha1.TransportNode, tc.mode // whose agent is gone
		helper := &byTransport{answers: map[string]func() (*helperapi.Report, error){"a" + byExec: says(v1alpha1.ReasonNoShell), "a" + door: sees()}}
		s.Helper = helper
		_, _ = s.run(t.Context(), s.Situation, s.at("a"), helperapi.VerbStatus, helperapi.Request{})
		if diff := cmp.Diff(tc.ran, helper.ran); diff != "" {
			t.Errorf("%s: helper calls (-want +got):\n%s", name, diff)
		}
	}
}

// A node agent is recommended where one may serve the pod, and not where one was asked first.
func TestNodeAgentIsAdvised(t *testing.T) {
	for name, tc := range map[string]struct {
		allowed, asked v1alpha1.Transport
		agent          NodeAgent
		want           bool
	}{
		"no node agent runs there":                         {want: true},
		"exec is requested":                                {asked: v1alpha1.TransportExec, want: true},
		"exec is requested where a node agent runs":        {asked: v1alpha1.TransportExec, agent: agentReady, want: true},
		"the node agent could not serve it":                {agent: agentReady},
		"the node agent starts":                            {agent: agentAwaited},
		"the node agent is requested":                      {asked: v1alpha1.TransportNode},
		"the operator may use no node agent":               {allowed: v1alpha1.TransportExec},
		"the operator may only use an ephemeral container": {allowed: v1alpha1.TransportEphemeralContainer},
	} {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			s.Transport, s.Exporter.Spec.Transport, s.NodeAgent = tc.allowed, tc.asked, tc.agent
			o := s.withoutNext(record.NotDone(v1alpha1.ReasonExecForbidden, "Forbidden."))
			if got := strings.Contains(o.Message, "config/node"); got != tc.want {
				t.Errorf("message: got %q, want a node agent recommended: %t", o.Message, tc.want)
			}
		})
	}
}
