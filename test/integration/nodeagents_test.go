package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// nodeAgents are a fake of the node agents: one performs the helper's operations in the scripted
// containers of its node, and leaves no helper there. What is real of them is tested in
// cmd/jmx-attach and pkg/transport.
type nodeAgents struct {
	nodes map[string]steps.NodeAgent
	// refuses are the containers that they do not serve, by pod.
	refuses map[types.UID]bool
	// fails is the reason why they fail, before they serve any container; empty if they do not.
	fails string
}

// Agent implements attachment.NodeAgents.
func (a *nodeAgents) Agent(node string) steps.NodeAgent { return a.nodes[node] }

// Watch implements attachment.NodeAgents.
func (*nodeAgents) Watch(context.Context, func(string)) {}

// Synced implements attachment.NodeAgents.
func (*nodeAgents) Synced(context.Context) {}

// run is a conversation with the node agent of a container's node.
func (a *nodeAgents) run(ctx context.Context, o *operator, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
	switch agent := a.nodes[in.Node]; {
	case agent.Awaited:
		return nil, fault(v1alpha1.ReasonNodeAgentPending)
	case !agent.Ready:
		return nil, fault(v1alpha1.ReasonNodeAgentMissing)
	case a.fails != "":
		return nil, &transport.Error{Reason: a.fails, Message: "No session.", Err: transport.ErrNotOpened}
	case a.refuses[in.PodUID]:
		return nil, fault(v1alpha1.ReasonNodeAgentRefused)
	}
	var report *helperapi.Report
	err := o.seam(ctx, effects.Effect{Kind: effects.Exec, What: "node " + string(verb), On: in.Namespace + "/" + in.Pod}, func(context.Context) (err error) {
		in.Transient = true // no helper is brought into the container
		report, err = o.containers.Exec(in, verb, request, blobs)
		return err
	})
	return report, err
}

// by is the transport of the container app, as the record has it.
func (c *cluster) by(pod *corev1.Pod) string {
	c.t.Helper()
	entry := c.attachment(pod).Status.Containers[0]
	return fmt.Sprintf("%s %s", entry.Transport, entry.TransportReason)
}

// withNodeAgents returns a cluster with a node agent on node-1, and none on other nodes.
func withNodeAgents(t *testing.T) *cluster {
	c := newCluster(t)
	c.nodeAgents = &nodeAgents{nodes: map[string]steps.NodeAgent{"node-1": {Ready: true, UID: "agent"}}, refuses: map[types.UID]bool{}}
	return c
}

func (p *podBuilder) on(node string) *podBuilder {
	p.pod.Spec.NodeName = node
	return p
}

// On a node with a node agent, Auto needs neither a shell nor an ephemeral container; on others
// it uses what it did before; and a container that the node agent refuses is reached as there.
func TestNodeAgents(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: withNodeAgents(t)}
	f.o = f.operate()
	f.pods = []*corev1.Pod{
		f.run(aPod("app-0").withoutShell()), f.run(aPod("app-1")),
		f.run(aPod("app-2").on("node-2").withoutShell()), f.run(aPod("app-3").on("node-2")),
		f.run(aPod("app-4")),
	}
	f.nodeAgents.refuses[f.pods[4].UID] = true
	f.configure(rules)
	f.exporter = f.export("exporter")
	f.o.settle()
	f.o.tire()
	f.expect("there is a node agent on one node", isAnnotated, isAnnotated, isAnnotated, isAnnotated, isAnnotated)
	var got []string
	for _, pod := range f.pods {
		get(t, pod)
		got = append(got, fmt.Sprintf("%s, %d ephemeral containers, helper %t, %d loads", f.by(pod), len(pod.Spec.EphemeralContainers), f.container(pod).Helper, f.jvm(pod).Loads))
	}
	want := []string{
		"Node , 0 ephemeral containers, helper false, 1 loads",
		"Node , 0 ephemeral containers, helper false, 1 loads",
		"EphemeralContainer NoShell, 1 ephemeral containers, helper true, 1 loads",
		" , 0 ephemeral containers, helper true, 1 loads",
		"Exec NodeAgentRefused, 0 ephemeral containers, helper true, 1 loads",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transports (-want +got):\n%s", diff)
	}
}

// A node agent that is ready, but fails before it serves a container, keeps no pod from being
// attached to that exec reaches. Others wait for it, and get no ephemeral container meanwhile: the
// next agent serves them.
func TestNodeAgentFails(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{v1alpha1.ReasonExecFailed, v1alpha1.ReasonNodeAgentPending} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			f := &fleet{cluster: withNodeAgents(t)}
			f.o = f.operate()
			f.nodeAgents.fails = reason
			f.pods = []*corev1.Pod{f.run(aPod("app-0")), f.run(aPod("app-1").withoutShell())}
			f.configure(rules)
			f.exporter = f.export("exporter")
			f.o.settle()
			f.expect("it has failed once", "Discovered "+reason, "Discovered "+reason)
			f.o.tire()
			f.expect("it has failed repeatedly", isAnnotated, "Discovered "+reason)
			if got, want := f.by(f.pods[0]), "Exec "+reason; got != want {
				t.Errorf("transport: got %q, want %q", got, want)
			}
			f.nodeAgents.fails = ""
			f.nodeAgents.nodes["node-1"] = steps.NodeAgent{Ready: true, UID: "next"}
			f.o.settle()
			f.expect("the next one is ready", isAnnotated, isAnnotated)
			for i, want := range []string{"Exec " + reason, "Node "} {
				get(t, f.pods[i])
				if got := f.by(f.pods[i]); got != want || len(f.pods[i].Spec.EphemeralContainers) > 0 || f.jvm(f.pods[i]).Loads != 1 {
					t.Errorf("pod %d: %d loads by %q, and %d ephemeral containers; want one by %q, and none", i, f.jvm(f.pods[i]).Loads, got, len(f.pods[i].Spec.EphemeralContainers), want)
				}
			}
		})
	}
}

// A preflight by a node agent leaves nothing in a pod without a shell, and attaches nothing.
func TestPreflightByNodeAgent(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: withNodeAgents(t)}
	f.o = f.operate()
	f.pods = []*corev1.Pod{f.run(aPod("app-0").withoutShell())}
	f.configure(rules)
	f.exporter = f.preflight("exporter")
	f.expect("the mode is Preflight", isPreflight)
	f.expectFound("the mode is Preflight", f.exporter, "1/1, pending 0, True PodsInspected")
	get(t, f.exporter)
	want := []v1alpha1.TransportCount{{Transport: v1alpha1.TransportNode, Count: 1}}
	if diff := cmp.Diff(want, f.exporter.Status.Preflight.Transports); diff != "" {
		t.Errorf("transports (-want +got):\n%s", diff)
	}
	if f.container(f.pods[0]).Helper || f.jvm(f.pods[0]).Socket {
		t.Error("something was left in the pod")
	}
}

// While a node agent is awaited, a pod that exec does not reach waits for it unchanged. One that
// comes attaches to it; after one that does not come, the pod gets an ephemeral container.
func TestNodeAgentIsAwaited(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: withNodeAgents(t)}
	awaited := steps.NodeAgent{Awaited: true, AwaitedFor: time.Hour}
	f.nodeAgents.nodes["node-1"], f.nodeAgents.nodes["node-2"] = awaited, awaited
	f.o = f.operate()
	f.pods = []*corev1.Pod{f.run(aPod("app-0").withoutShell()), f.run(aPod("app-1").on("node-2").withoutShell())}
	f.configure(rules)
	f.exporter = f.export("exporter")
	f.o.settle()
	f.expect("the node agents are awaited", "Discovered NodeAgentPending", "Discovered NodeAgentPending")
	for _, pod := range f.pods {
		if get(t, pod); len(pod.Spec.EphemeralContainers) > 0 {
			t.Errorf("pod %s got an ephemeral container", pod.Name)
		}
	}
	f.nodeAgents.nodes["node-1"], f.nodeAgents.nodes["node-2"] = steps.NodeAgent{Ready: true, UID: "agent"}, steps.NodeAgent{}
	f.o.settle()
	f.o.tire()
	f.expect("one has come", isAnnotated, isAnnotated)
	var got []string
	for _, pod := range f.pods {
		get(t, pod)
		got = append(got, fmt.Sprintf("%s, %d ephemeral containers, %d loads", f.by(pod), len(pod.Spec.EphemeralContainers), f.jvm(pod).Loads))
	}
	want := []string{"Node , 0 ephemeral containers, 1 loads", "EphemeralContainer NoShell, 1 ephemeral containers, 1 loads"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transports (-want +got):\n%s", diff)
	}
}

// A JVM that is attached to is reached by another transport in every direction, serves each
// configuration that comes meanwhile, and gets no second load. It is detached by whichever
// transport there is.
func TestMovesBetweenTransports(t *testing.T) {
	t.Parallel()
	const auto, exec, throughDoor, node = v1alpha1.TransportAuto, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer, v1alpha1.TransportNode
	f := &fleet{cluster: withNodeAgents(t)}
	f.o = f.operate()
	pod := f.run(aPod("app-0"))
	f.pods = []*corev1.Pod{pod}
	agent := f.nodeAgents.nodes["node-1"]
	f.nodeAgents.nodes["node-1"] = steps.NodeAgent{}
	f.exporter = f.export("exporter")
	f.o.settle()
	f.o.tire()
	f.expect("there is no node agent", isAnnotated)
	for i, step := range []struct {
		what    string
		asked   v1alpha1.Transport
		agent   bool
		refuses bool
		want    string
	}{
		{what: "a node agent comes", asked: auto, agent: true, want: "Node "},
		{what: "it goes", asked: auto, want: "Exec NodeAgentMissing"},
		{what: "an ephemeral container is asked for", asked: throughDoor, want: "EphemeralContainer "},
		{what: "a node agent comes, and the choice is left", asked: auto, agent: true, want: "Node "},
		{what: "it goes again", asked: auto, want: "Exec NodeAgentMissing"},
		{what: "it comes again", asked: auto, agent: true, want: "Node "},
		{what: "exec is asked for", asked: exec, agent: true, want: "Exec "},
		{what: "the node agent is asked for", asked: node, agent: true, want: "Node "},
		{what: "it refuses, and the choice is left", asked: auto, agent: true, refuses: true, want: "Exec NodeAgentRefused"},
	} {
		f.nodeAgents.nodes["node-1"] = steps.NodeAgent{}
		if step.agent {
			f.nodeAgents.nodes["node-1"] = agent
		}
		f.nodeAgents.refuses[pod.UID] = step.refuses
		change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Transport = step.asked })
		before := f.attachment(pod).Status.Processes[0].ConfigSHA256
		f.configure(fmt.Sprintf("# %d\n%s", i, rules))
		f.o.settle()
		f.o.tire()
		f.expect(step.what, isAnnotated)
		if got := f.by(pod); got != step.want {
			t.Errorf("%s: transport: got %q, want %q", step.what, got, step.want)
		}
		if p := f.attachment(pod).Status.Processes[0]; p.ConfigSHA256 == before || f.jvm(pod).Mark.ConfigSHA256 != p.ConfigSHA256 {
			t.Errorf("%s: the JVM does not serve the new configuration", step.what)
		}
		if loads := f.jvm(pod).Loads; loads != 1 {
			t.Errorf("%s: loads: got %d, want 1", step.what, loads)
		}
	}
	f.nodeAgents.refuses[pod.UID] = false
	remove(t, f.exporter)
	f.o.settle()
	f.o.tire()
	if a := f.attachment(pod); a != nil || f.jvm(pod).Unloads != 1 || f.jvm(pod).Running() {
		t.Errorf("after the detach: record %v, %d unloads, want none and 1", a, f.jvm(pod).Unloads)
	}
}

// An agent in a container without a shell is reached through an ephemeral container while there is
// no node agent. Where exec has led to the agent once, none is added, whichever transport was taken
// since.
func TestMovesWithoutShell(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: withNodeAgents(t)}
	f.o = f.operate()
	agent := f.nodeAgents.nodes["node-1"]
	f.nodeAgents.nodes["node-1"] = steps.NodeAgent{}
	served := f.run(aPod("app-0"))
	f.pods = []*corev1.Pod{served}
	f.exporter = f.export("exporter")
	f.o.settle()
	f.o.tire()
	f.nodeAgents.nodes["node-1"] = agent
	f.pods = append(f.pods, f.run(aPod("app-1").withoutShell()))
	f.configure("# 1\n" + rules)
	f.o.settle()
	f.o.tire()
	f.expect("there is a node agent", isAnnotated, isAnnotated)
	scripted := f.container(served)
	f.containers.Locked(func() { scripted.NoShell = true })
	f.nodeAgents.nodes["node-1"] = steps.NodeAgent{}
	f.configure("# 2\n" + rules)
	f.o.settle()
	f.o.tire()
	f.nodeAgents.nodes["node-1"] = agent
	f.o.settle()
	f.o.tire()
	f.expect("it went, and came again", isAnnotated, isAnnotated)
	for i, want := range []int{0, 1} {
		get(t, f.pods[i])
		if got := len(f.pods[i].Spec.EphemeralContainers); got != want || f.jvm(f.pods[i]).Loads != 1 {
			t.Errorf("pod %d: got %d ephemeral containers and %d loads, want %d and 1", i, got, f.jvm(f.pods[i]).Loads, want)
		}
		if p := f.attachment(f.pods[i]).Status.Processes[0]; f.jvm(f.pods[i]).Mark.ConfigSHA256 != p.ConfigSHA256 {
			t.Errorf("pod %d: the JVM does not serve the last configuration", i)
		}
	}
}
