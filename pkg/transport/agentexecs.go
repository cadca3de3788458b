package transport

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/mux"
)

// agentIdle is how long an exec into a node agent is kept without a conversation. The agent
// itself ends it after a minute.
const agentIdle = 50 * time.Second

// Agents finds node agents. Implementations are safe for concurrent use.
type Agents interface {
	// On returns the node agent that runs on a node, as a Container (Namespace, Pod,
	// PodUID, Name, ID, Node). It returns soon. Its error is an *Error:
	// ReasonNodeAgentMissing or ReasonNodeAgentPending.
	On(ctx context.Context, node string) (Container, error)
}

// agentExecs are the execs of conversations through node agents. It opens an exec for each
// agent when one is needed, and shares it. It is safe for concurrent use.
type agentExecs struct {
	streams Streams
	agents  Agents
	seam    effects.Seam

	mu sync.Mutex
	// byNode holds the exec that is used on each node, and all holds those, too, in which only
	// former conversations last.
	byNode map[string]*agentExec
	all    map[*agentExec]bool
	denied *agentDenials
}

func newAgentExecs(streams Streams, agents Agents, seam effects.Seam) *agentExecs {
	return &agentExecs{streams: streams, agents: agents, seam: seam, byNode: map[string]*agentExec{}, all: map[*agentExec]bool{}, denied: newAgentDenials()}
}

// conversation is the Streams of one conversation.
type conversation struct {
	*agentExecs
	stream atomic.Pointer[mux.Stream]
}

// reached reports whether the agent has acknowledged the conversation: what hangs from then on
// is about the container.
func (c *conversation) reached() bool {
	stream := c.stream.Load()
	return stream != nil && stream.Answered()
}

// Stream implements Streams: it converses about a container, through the agent on its node.
// Nothing that one conversation does keeps others waiting. The command is the same for all,
// and nothing comes as standard error.
func (c *conversation) Stream(ctx context.Context, in Container, _ []string, stdin io.Reader, stdout, _ io.Writer) error {
	agent, err := c.agents.On(ctx, in.Node)
	if err != nil {
		return err
	}
	a, err := c.enter(ctx, in.Node, agent)
	if err != nil {
		return err
	}
	defer c.leave(a)
	return a.converse(ctx, in, stdin, stdout, &c.stream)
}

// enter returns the exec into a node agent, and opens it if there is none, if it is lost, or
// if it is one into a former agent. While an exec that was denied is not tried again, it returns
// the *Error of the denial.
func (e *agentExecs) enter(ctx context.Context, node string, agent Container) (*agentExec, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.byNode[node]
	if a != nil && !a.serves(agent) {
		e.retire(node, a)
		a = nil
	}
	if a == nil {
		if denied := e.denied.of(node, agent.PodUID); denied != nil {
			return nil, denied
		}
		a = startAgentExec(ctx, e.streams, e.seam, agent, func(a *agentExec) { e.ended(node, a) }) // which may be before it returns
		a.idle = time.AfterFunc(agentIdle, func() { e.endIdle(node, a) })
		e.byNode[node], e.all[a] = a, true
	}
	a.idle.Stop()
	a.conversations++
	return a, nil
}

// leave ends a conversation.
func (e *agentExecs) leave(a *agentExec) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a.conversations--
	switch {
	case a.conversations > 0:
	case a.retired:
		a.mux.Close(errAgentIdle)
	default:
		a.idle.Reset(agentIdle)
	}
}

var errAgentIdle = errors.New("the exec into the node agent is not used")

// retire has new conversations use another exec; those that last may end. The caller holds
// the lock.
func (e *agentExecs) retire(node string, a *agentExec) {
	a.retired = true
	a.idle.Stop()
	if e.byNode[node] == a {
		delete(e.byNode, node)
	}
	if a.conversations == 0 {
		a.mux.Close(errAgentIdle)
	}
}

// endIdle ends an exec unless a conversation has begun meanwhile.
func (e *agentExecs) endIdle(node string, a *agentExec) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a.conversations == 0 {
		e.retire(node, a)
	}
}

// ended forgets an exec that has ended.
func (e *agentExecs) ended(node string, a *agentExec) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.denied.note(node, a.agent.PodUID, a.mux.Err(), a.begun())
	e.retire(node, a)
	delete(e.all, a)
}

// close ends all execs.
func (e *agentExecs) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for node, a := range e.byNode {
		e.retire(node, a)
	}
	for a := range e.all {
		a.mux.Close(errAgentIdle)
	}
}
