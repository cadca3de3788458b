// Package nodeagents finds the node agents: pods of a DaemonSet in the operator's own
// namespace (config/node), of which each serves the containers of its node.
package nodeagents

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// ContainerName is the name of the container of a node agent.
const ContainerName = "node-agent"

// Labels of the pods of the node agents.
const (
	labelName, labelComponent = "app.kubernetes.io/name", "app.kubernetes.io/component"
	nameValue, componentValue = DaemonSetName, "node-agent"
)

// DaemonSetName is the name of the DaemonSet of the node agents, and of their service account.
const DaemonSetName = "jmx-exporter-node"

// isAgent reports whether a pod is a node agent: the DaemonSet made it. What only has the
// labels would get configurations, with their secrets, and the operator's trust.
func isAgent(p *corev1.Pod) bool {
	controller := metav1.GetControllerOf(p)
	return p.Spec.ServiceAccountName == DaemonSetName &&
		controller != nil && controller.APIVersion == "apps/v1" && controller.Kind == "DaemonSet" && controller.Name == DaemonSetName
}

// awaited is how long a node agent that went is waited for: an update of the DaemonSet
// replaces it within seconds.
const awaited = time.Minute

// Agents knows the node agents of the operator's own namespace, without a request: from what
// Watch has seen. It is safe for concurrent use, and implements transport.Agents and
// attachment.NodeAgents.
type Agents struct {
	namespace string
	client    kubernetes.Interface
	clock     clock.Clock
	synced    chan struct{}
	syncOnce  sync.Once

	mu    sync.Mutex
	nodes map[string]*node
}

// node is what is known of a node on which a node agent was seen.
type node struct {
	agents map[types.UID]agent
	// lost is when the last agent that was ready was not any more.
	lost time.Time
	// last is that agent.
	last types.UID
}

// agent is one pod of a node agent.
type agent struct {
	transport.Container
	ready   bool
	created time.Time
}

// New returns Agents for the operator's own namespace; without one, as outside of a cluster,
// there are none.
func New(client kubernetes.Interface, namespace string, c clock.Clock) *Agents {
	return &Agents{namespace: namespace, client: client, clock: c, synced: make(chan struct{}), nodes: map[string]*node{}}
}

// On implements transport.Agents.
func (a *Agents) On(_ context.Context, name string) (transport.Container, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[name]
	switch ready, found := n.ready(); {
	case found:
		return ready.Container, nil
	case n != nil && (len(n.agents) > 0 || a.awaits(n)):
		return transport.Container{}, &transport.Error{Reason: v1alpha1.ReasonNodeAgentPending, Message: fmt.Sprintf("The node agent on node %s is not ready.", name)}
	case a.namespace == "":
		return transport.Container{}, &transport.Error{Reason: v1alpha1.ReasonNodeAgentMissing, Message: "The operator runs outside of a cluster, and has no node agents."}
	}
	return transport.Container{}, &transport.Error{Reason: v1alpha1.ReasonNodeAgentMissing, Message: fmt.Sprintf(
		"No node agent runs on node %s: deploy the component config/node, or let its DaemonSet jmx-exporter-node in namespace %s tolerate the taints of the node; or set spec.transport to Auto.", name, a.namespace)}
}

// Agent implements attachment.NodeAgents.
func (a *Agents) Agent(name string) steps.NodeAgent {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[name]
	if ready, found := n.ready(); found {
		return steps.NodeAgent{Ready: true, UID: ready.PodUID}
	}
	if n == nil || !a.awaits(n) {
		return steps.NodeAgent{}
	}
	return steps.NodeAgent{Awaited: true, UID: n.last}
}

// awaits reports whether a node had a node agent a short time ago.
func (a *Agents) awaits(n *node) bool {
	return !n.lost.IsZero() && a.clock.Since(n.lost) < awaited
}

// ready returns the node agent that can be asked: the newest, of several during an update of
// the DaemonSet.
func (n *node) ready() (newest agent, found bool) {
	if n == nil {
		return newest, false
	}
	for _, a := range n.agents {
		if a.ready && (!found || a.newerThan(newest)) {
			newest, found = a, true
		}
	}
	return newest, found
}

func (a agent) newerThan(b agent) bool {
	return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Pod, b.Pod)) > 0
}

// set notes a pod of a node agent as it is now, or that it is gone, and reports whether its
// node has got a node agent that can be asked.
func (a *Agents) set(p *corev1.Pod, gone bool) (becameReady bool) {
	if p.Spec.NodeName == "" || !isAgent(p) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[p.Spec.NodeName]
	if n == nil {
		n = &node{agents: map[types.UID]agent{}}
		a.nodes[p.Spec.NodeName] = n
	}
	was, before := n.ready()
	if gone {
		delete(n.agents, p.UID)
	} else {
		n.agents[p.UID] = agentOf(p)
	}
	_, after := n.ready()
	if before && !after {
		n.lost, n.last = a.clock.Now(), was.PodUID
	}
	a.forget()
	return after && !before
}

// forget drops nodes that have had no node agent for long.
func (a *Agents) forget() {
	for name, n := range a.nodes {
		if len(n.agents) == 0 && !a.awaits(n) {
			delete(a.nodes, name)
		}
	}
}

func agentOf(p *corev1.Pod) agent {
	found := agent{Container: transport.Container{
		Namespace: p.Namespace, Pod: p.Name, PodUID: p.UID, Name: ContainerName, Node: p.Spec.NodeName,
	}, created: p.CreationTimestamp.Time}
	for _, c := range pod.Running(p) {
		if c.Name == ContainerName {
			found.ID = c.ID
		}
	}
	found.ready = found.ID != "" && p.DeletionTimestamp.IsZero() && !pod.ReadySince(p).IsZero()
	return found
}
