package steps

import (
	"fmt"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// takesDoor reports whether a container that exec could not inspect is reached through
// an ephemeral container from now on. Mode Preflight adds none, so this may become true
// when that mode ends. None is added to reach an agent to which exec has led: it serves, and a
// shell that is gone comes back with the next instance of the container.
func (s *Situation) takesDoor(c pod.Container, entry *v1alpha1.InspectedContainer) bool {
	return s.Exporter.Spec.Mode != v1alpha1.ModePreflight && !entry.ReachedByExec && !s.execLed(entry) && s.needsAnother(c, entry)
}

// takesNodeAgent reports whether a container that exec could not inspect is reached by the node
// agent from now on, which is awaited: it changes nothing in the pod, in mode Preflight too.
func (s *Situation) takesNodeAgent(c pod.Container, entry *v1alpha1.InspectedContainer) bool {
	return s.NodeAgent.Awaited && !s.nodeRefused(entry) && s.needsAnother(c, entry)
}

// needsAnother reports whether a container that exec could not inspect is to be inspected by
// another transport.
func (s *Situation) needsAnother(c pod.Container, entry *v1alpha1.InspectedContainer) bool {
	way := s.wayTo(entry)
	return s.transport() == v1alpha1.TransportAuto && (way == "" || way == v1alpha1.TransportExec) && ExecCannot(entry.Reason) && s.matters(c)
}

// awaitsNodeAgent reports whether a container that exec could not inspect waits for the node
// agent.
func awaitsNodeAgent(entry *v1alpha1.InspectedContainer) bool {
	return entry.Reason == v1alpha1.ReasonNodeAgentPending && ExecCannot(entry.TransportReason)
}

// takesAnyDoor reports whether any container is reached through an ephemeral container from
// now on.
func (s *Situation) takesAnyDoor() bool {
	return slices.ContainsFunc(s.containers(), func(c pod.Container) bool {
		entry := s.Current(c)
		return entry != nil && s.takesDoor(c, entry)
	})
}

// matters reports whether a Java process is expected in a container that exec cannot
// inspect.
func (s *Situation) matters(c pod.Container) bool {
	if slices.Contains(s.Exporter.Spec.Containers, v1alpha1.ContainerName(c.Name)) {
		return true
	}
	for _, other := range s.containers() {
		entry := s.Current(other)
		switch {
		case other == c:
		case s.Find(func(p *v1alpha1.JavaProcess) bool { return p.Container == other.Name }) != nil:
			return false
		case entry == nil:
			return false // it is inspected first
		case record.ThroughDoor(entry) && entry.Reason != "" && record.KindOf(entry.Reason) != statemachine.Refused:
			return false // its ephemeral container is about to tell
		case !record.ThroughDoor(entry) && entry.Reason == "" && pod.ReadySince(s.Pod).IsZero():
			return false // a JVM may start there
		case entry.Reason != "" && !ExecCannot(entry.Reason) && !awaitsNodeAgent(entry) && !record.ThroughDoor(entry) && record.KindOf(entry.Reason) != statemachine.Refused:
			return false // it is inspected again
		}
	}
	return true
}

// doorClosed returns why no ephemeral container may be added now; nil if it may. Adding
// one changes the pod for good, and takes a rollout slot like a load.
func (s *Situation) doorClosed(at transport.Container) *statemachine.Outcome {
	if at.Transport != v1alpha1.TransportEphemeralContainer || s.hasAgent(at.ID) {
		return nil
	}
	if outcome := s.restarted(at.Name, at.ID); outcome != nil {
		return outcome
	}
	if outcome := s.unstable(at.Name, at.ID); outcome != nil {
		return outcome
	}
	return s.notGranted(at.Name)
}

// noteUser records the user that the JVM of a container runs as, if the ephemeral
// container ran as a different user and could not access it. It reports whether the user
// is new: the container is then inspected through another ephemeral container.
func (s *Situation) noteUser(at transport.Container, entry *v1alpha1.InspectedContainer, found []helperapi.Process) bool {
	if at.Transport != v1alpha1.TransportEphemeralContainer || entry.User != "" {
		return false
	}
	for _, p := range found {
		if p.Refusal != nil && string(p.Refusal.Reason) == v1alpha1.ReasonUserMismatch {
			entry.User = fmt.Sprintf("%d:%d", p.UID, p.GID)
			return true
		}
	}
	return false
}

// leads reports whether an agent that is to be stopped is reached through an ephemeral
// container.
func (s *Situation) leads(c v1alpha1.InspectedContainer) bool {
	return record.ThroughDoor(&c) && s.Find(func(p *v1alpha1.JavaProcess) bool { return p.Container == c.Name && record.MayHaveAgent(p) }) != nil
}
