// Package nodeagents finds the node agents: pods of a DaemonSet in the operator's own
// namespace (config/node), of which each serves the containers of its node.
package nodeagents

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// awaited is how long a node agent that is not ready is waited for: an update of the DaemonSet
// replaces it within seconds, and its image is pulled onto a new node about as fast.
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
	// waits is when the wait for an agent began that is ready; zero before the first one.
	waits time.Time
	// ready is since when there is an agent that is ready, or was when there was one last.
	ready time.Time
	// last is the agent that was ready last.
	last types.UID
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
	switch ready, found := n.newest(agent.isReady); {
	case found:
		return ready.Container, nil
	case n != nil && (len(n.agents) > 0 || a.left(n) > 0):
		return transport.Container{}, &transport.Error{Reason: v1alpha1.ReasonNodeAgentPending, Message: n.message(name)}
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
	if ready, found := n.newest(agent.isReady); found {
		return steps.NodeAgent{Ready: true, UID: ready.PodUID}
	}
	if left := a.left(n); left > 0 {
		return steps.NodeAgent{Awaited: true, AwaitedFor: left, UID: n.last}
	}
	if n != nil && len(n.agents) > 0 { // it may be ready again: what it failed at is not tried again for that
		return steps.NodeAgent{UID: n.last}
	}
	return steps.NodeAgent{}
}

// left returns how long an agent that is ready is still waited for on a node.
func (a *Agents) left(n *node) time.Duration {
	if n == nil || n.waits.IsZero() {
		return 0
	}
	return max(awaited-a.clock.Since(n.waits), 0)
}

// newest returns the newest of the matching agents: during an update of the DaemonSet, there
// may be several.
func (n *node) newest(match func(agent) bool) (newest agent, found bool) {
	if n == nil {
		return newest, false
	}
	for _, a := range n.agents {
		if match(a) && (!found || a.newerThan(newest)) {
			newest, found = a, true
		}
	}
	return newest, found
}

// message returns a sentence that says why no agent is ready on the node of a name.
func (n *node) message(name string) string {
	last, found := n.newest(func(agent) bool { return true })
	if !found {
		return fmt.Sprintf("The node agent on node %s is gone, and the next one is not ready.", name)
	}
	return fmt.Sprintf("The node agent on node %s is not ready%s (pod %s/%s).", name, last.why, last.Namespace, last.Pod)
}

// wait begins the wait for an agent that is ready when there is none. It begins anew only after
// one was ready for as long as it is waited for: one that crash-loops would be
// waited for without end.
func (n *node) wait(before, after bool, now time.Time) {
	switch {
	case after && !before:
		n.ready = now
	case after || !before && len(n.agents) == 0:
	case n.waits.IsZero(), before && now.Sub(n.ready) >= awaited:
		n.waits = now
	}
}

// set notes a pod of a node agent as it is now, or that it is gone, and reports whether its
// node has got a node agent that can be asked, or another one than before.
func (a *Agents) set(p *corev1.Pod, gone bool) (becameReady bool) {
	name := nodeOf(p)
	if name == "" || !isAgent(p) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[name]
	if n == nil {
		n = &node{agents: map[types.UID]agent{}}
		a.nodes[name] = n
	}
	last, before := n.newest(agent.isReady)
	if gone {
		delete(n.agents, p.UID)
	} else {
		n.agents[p.UID] = agentOf(p)
	}
	next, after := n.newest(agent.isReady)
	n.wait(before, after, a.clock.Now())
	if before {
		n.last = last.PodUID
	}
	a.forget()
	return after && next.PodUID != last.PodUID
}

// forget drops nodes that have had no node agent for long.
func (a *Agents) forget() {
	for name, n := range a.nodes {
		if len(n.agents) == 0 && a.left(n) == 0 {
			delete(a.nodes, name)
		}
	}
}
