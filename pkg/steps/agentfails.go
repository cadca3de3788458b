package steps

import (
	"errors"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// maxNodeTries is how often in a row a node agent that is ready may fail for a container, before
// the next transport is taken: some seconds of backoff, in which an exec that was lost is opened
// again.
const maxNodeTries = 4

// nodeFails reports whether a node agent may fail for this reason whatever the container is: the
// exec into it fails or is lost, it hangs, or it is of another release.
func nodeFails(reason string) bool {
	return slices.Contains([]string{
		v1alpha1.ReasonExecFailed, v1alpha1.ReasonHelperFailed, v1alpha1.ReasonHelperKilled,
		v1alpha1.ReasonContainerNotResponding, v1alpha1.ReasonNodeAgentPending,
	}, reason)
}

// givesUpNode reports whether the next transport is taken after a failure: the node agent is
// ready, but fails for the container each time before anything is executed in it. It is asked
// first at the next visit nevertheless, and preferred again as soon as it serves the container.
// Another agent has as many tries as this one had.
func (s *Situation) givesUpNode(at transport.Container, err error) bool {
	if at.Transport != v1alpha1.TransportNode || !s.NodeAgent.Ready || !nodeFails(reasonOf(err)) || !errors.Is(err, transport.ErrNotOpened) {
		return false
	}
	entry := s.Inspected(at.Name)
	return entry != nil && s.failedBefore(entry) || s.nodeTries(at)+1 >= maxNodeTries
}

// failedBefore reports whether the record says that the node agent was given up for a container,
// and it is still the same one.
func (s *Situation) failedBefore(entry *v1alpha1.InspectedContainer) bool {
	return nodeFails(entry.TransportReason) && entry.NodeAgentUID != "" && entry.NodeAgentUID == s.NodeAgent.UID
}

// nodeTries returns how often in a row the node agent has failed for a container, according to
// the attempts of its inspection, of its processes, and of a detach. Attempts with another node
// agent have other keys, but for those of a detach, which has no time to lose.
func (s *Situation) nodeTries(at transport.Container) (tries int32) {
	detaching := s.Exporter == nil
	count := func(reason string, a *v1alpha1.Attempt) {
		if a != nil && nodeFails(reason) && (detaching || a.Key == s.Key()) {
			tries = max(tries, a.Count)
		}
	}
	if entry := s.Inspected(at.Name); entry != nil && entry.ContainerID == at.ID {
		count(entry.Reason, entry.Attempt)
	}
	for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == at.ID }) {
		count(p.Reason, p.Attempt)
	}
	if detaching {
		tries = max(tries, s.Status().Attempt.Tries())
	}
	return tries
}

// nodeFailure is the failure for which a node agent was given up for a container.
type nodeFailure struct {
	at  transport.Container
	err error
	// entry is the record's entry before.
	entry v1alpha1.InspectedContainer
}

// retryNode asks the node agent again at the next try, since no other transport reaches the
// container: what ends is the agent's failure, which is retried, while the lack of a shell stays.
func (s *Situation) retryNode(f *nodeFailure) (transport.Container, error) {
	if entry := s.Inspected(f.at.Name); entry != nil {
		*entry = f.entry
	}
	delete(s.withoutNode, f.at.Name)
	return f.at, f.err
}
