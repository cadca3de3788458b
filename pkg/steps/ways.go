package steps

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// way is a transport as Auto sees it.
type way struct {
	transport v1alpha1.Transport
	// cannot reports whether a failure for this reason says that the transport does not reach
	// the container, and has executed nothing in it: then the next one is taken.
	cannot func(reason string) bool
	// changesPod reports whether the transport changes the pod for good. It is then taken
	// only for a container that matters, with a rollout slot.
	changesPod bool
}

// ways are the transports in the order in which Auto takes them. All of them find the same
// files of the agent in the container, and the same mark in its JVM, so that a move from one
// to another is no load.
var ways = []way{
	{transport: v1alpha1.TransportNode, cannot: nodeCannot},
	{transport: v1alpha1.TransportExec, cannot: ExecCannot},
	{transport: v1alpha1.TransportEphemeralContainer, cannot: func(string) bool { return false }, changesPod: true},
}

// nodeCannot reports whether a node agent cannot reach a container for this reason. A denied
// exec is the one into the node agent's own pod. One that is not ready is waited for, as long
// as Situation.wayTo chooses it.
func nodeCannot(reason string) bool {
	return slices.Contains([]string{
		v1alpha1.ReasonNodeAgentRefused, v1alpha1.ReasonNodeAgentUndecided, v1alpha1.ReasonNodeAgentMissing,
		v1alpha1.ReasonExecForbidden, v1alpha1.ReasonExecRefused,
	}, reason)
}

// ExecCannot reports whether an ephemeral container is used instead of exec for this
// reason: it needs no shell and executes nothing in the container. A denied exec is not
// such a reason, since a policy would also deny the exec into the ephemeral container.
func ExecCannot(reason string) bool {
	return reason == v1alpha1.ReasonNoShell || reason == v1alpha1.ReasonHelperNotExecutable
}

// AwaitsNodeAgent reports whether a node agent that becomes ready may end this reason.
func AwaitsNodeAgent(reason string) bool {
	return ExecCannot(reason) || nodeHelps(reason) || slices.Contains([]string{
		v1alpha1.ReasonNodeAgentMissing, v1alpha1.ReasonNodeAgentPending, v1alpha1.ReasonNodeAgentRefused, v1alpha1.ReasonNodeAgentUndecided,
	}, reason)
}

// nodeHelps reports whether the failure of another transport for this reason would not befall
// a node agent: it needs neither an exec into the pod nor an ephemeral container.
func nodeHelps(reason string) bool {
	return slices.Contains([]string{
		v1alpha1.ReasonExecForbidden, v1alpha1.ReasonExecRefused, v1alpha1.ReasonDoorForbidden, v1alpha1.ReasonDoorRefused,
		v1alpha1.ReasonDoorImagePullFailed, v1alpha1.ReasonDoorFailed, v1alpha1.ReasonDoorsExhausted,
	}, reason)
}

// transport returns the transport to the pod. A pod that is being detached is reached by
// any transport that the operator may use.
func (s *Situation) transport() v1alpha1.Transport {
	if s.Exporter == nil {
		return TransportOf("", s.Transport)
	}
	return TransportOf(s.Exporter.Spec.Transport, s.Transport)
}

// wayTo returns the transport to a container with this entry in the record, or none: that of
// exporter and operator or, if they leave it open, the node agent that is ready, and otherwise
// that of the record. Empty means exec. An agent is awaited where it was used, and where an
// ephemeral container might have to be added, for good, unless the pod is being detached. One that is gone for long is given up: an exec costs
// more, and waits for nothing.
func (s *Situation) wayTo(entry *v1alpha1.InspectedContainer) v1alpha1.Transport {
	asked, recorded := s.transport(), v1alpha1.Transport("")
	if entry != nil {
		recorded = entry.Transport
	}
	switch {
	case asked != v1alpha1.TransportAuto:
		return asked
	case s.NodeAgent.Ready && !s.nodeRefused(entry):
		return v1alpha1.TransportNode
	case s.NodeAgent.Awaited && !s.nodeRefused(entry) && (recorded == v1alpha1.TransportNode || recorded == v1alpha1.TransportEphemeralContainer && s.Exporter != nil):
		return v1alpha1.TransportNode
	case recorded != v1alpha1.TransportNode:
		return recorded
	}
	return v1alpha1.TransportExec
}

// nodeRefused reports whether the node agent did not serve a container: in this reconcile, or
// by a refusal of this agent that the record remembers for this instance of the container.
func (s *Situation) nodeRefused(entry *v1alpha1.InspectedContainer) bool {
	return entry != nil && (s.refusedBefore(entry) || s.withoutNode[entry.Name])
}

// refusedBefore reports whether the record says that the node agent refused a container, and it
// is still the same one. The next one may have other flags.
func (s *Situation) refusedBefore(entry *v1alpha1.InspectedContainer) bool {
	return entry.TransportReason == v1alpha1.ReasonNodeAgentRefused && entry.NodeAgentUID == s.NodeAgent.UID
}
