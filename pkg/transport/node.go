package transport

import (
	"context"
	"errors"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport/wire"
)

// Node opens sessions through the node agent on the container's node: a pod of the
// operator's, which sees all processes of the node. It needs no right to exec into other
// pods, executes nothing in the target, and adds nothing to its pod. All sessions on a node
// share one exec, which is opened for the first of them, and closed agentIdle after the
// last. A Node is safe for concurrent use.
type Node struct {
	// exec is without streams, which each conversation has of its own.
	exec   *Exec
	agents *agentExecs
}

// NewNode returns a Node that finds its agents by agents, and reaches them by streams.
func NewNode(streams Streams, agents Agents, artifacts *Artifacts, seam effects.Seam, limits *Limits) *Node {
	shared := newAgentExecs(streams, agents, seam)
	return &Node{exec: NewExec(nil, artifacts, seam, limits), agents: shared}
}

// Open implements Dialer. It fails with ReasonNodeAgentMissing, ReasonNodeAgentPending or
// ReasonNodeAgentRefused where the container cannot be reached that way; its cause is
// ErrAgentRelease while the agent runs another release, and ErrNotOpened where the agent failed,
// whatever the container is.
func (n *Node) Open(ctx context.Context, in Container) (Session, error) {
	if in.ID == "" {
		return nil, &Error{Reason: v1alpha1.ReasonContainerNotRunning, Message: "The container is not running."}
	}
	through := &conversation{agentExecs: n.agents}
	exec := *n.exec
	exec.streams = through
	s, err := exec.start(ctx, in, NodeCommand(), func(w *wire.Wire, p *place) (helperapi.Hello, error) {
		hello, err := awaitHello(errNoHelloOnNode)(w, p)
		if errors.Is(err, errNotResponding) && !through.reached() {
			err = agentNotResponding(err)
		}
		return hello, err
	})
	if err != nil {
		return nil, notOpened(classifyConversation(err))
	}
	s.classify = classifyConversation
	if err := n.exec.artifacts.checkRelease(in.Origin.Purpose, s.hello); err != nil {
		s.Close()
		return nil, notOpened(err)
	}
	s.target = in.runtimeID()
	s.hello.ContainerID = "" // the agent may not see its own, and it is not the target's
	return s, nil
}

// Close ends all sessions. Later ones open their execs again.
func (n *Node) Close() { n.agents.close() }

var errNoHelloOnNode = &Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The node agent does not run the helper; check that its image is the operator's own."}
