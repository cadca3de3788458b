package steps

import (
	"context"
	"fmt"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// ExecCannot reports whether an ephemeral container is used instead of exec for this
// reason: it needs no shell and executes nothing in the container. A denied exec is not
// such a reason, since a policy would also deny the exec into the ephemeral container.
func ExecCannot(reason string) bool {
	return reason == v1alpha1.ReasonNoShell || reason == v1alpha1.ReasonHelperNotExecutable
}

// inspectThroughDoors inspects the containers that exec cannot reach through ephemeral
// containers, if the exporter leaves the choice of transport to the operator. An
// ephemeral container stays in the pod's spec, so none is added next to a container that
// may not matter: not if another container runs a Java process, or may be about to start
// one.
func (s *Scope) inspectThroughDoors(ctx context.Context, containers []container) statemachine.Outcome {
	for _, c := range containers {
		entry := s.current(c)
		if entry == nil || !s.takesDoor(c, entry) {
			continue
		}
		entry.Transport, entry.TransportReason = v1alpha1.TransportEphemeralContainer, entry.Reason
		entry.Reason, entry.Message, entry.Attempt = "", "", nil
		if outcome := s.inspect(ctx, c); outcome.Kind == statemachine.Queued {
			return outcome
		}
	}
	return Done()
}

func throughDoor(entry *v1alpha1.InspectedContainer) bool {
	return entry.Transport == v1alpha1.TransportEphemeralContainer
}

// takesDoor reports whether a container that exec could not inspect is reached through
// an ephemeral container from now on. Mode Preflight adds none, so this may become true
// when that mode ends.
func (s *Scope) takesDoor(c container, entry *v1alpha1.InspectedContainer) bool {
	return s.transport() == v1alpha1.TransportAuto && s.Exporter.Spec.Mode != v1alpha1.ModePreflight &&
		!throughDoor(entry) && ExecCannot(entry.Reason) && s.matters(c)
}

// TakesDoor reports whether any container is reached through an ephemeral container from
// now on.
func (s *Scope) TakesDoor() bool {
	return slices.ContainsFunc(s.containers(), func(c container) bool {
		entry := s.current(c)
		return entry != nil && s.takesDoor(c, entry)
	})
}

// matters reports whether a Java process is expected in a container that exec cannot
// inspect.
func (s *Scope) matters(c container) bool {
	if slices.Contains(s.Exporter.Spec.Containers, v1alpha1.ContainerName(c.name)) {
		return true
	}
	for _, other := range s.containers() {
		entry := s.current(other)
		switch {
		case other == c:
		case s.find(func(p *v1alpha1.JavaProcess) bool { return p.Container == other.name }) != nil:
			return false
		case entry == nil:
			return false // it is inspected first
		case throughDoor(entry) && entry.Reason != "" && KindOf(entry.Reason) != statemachine.Refused:
			return false // its ephemeral container is about to tell
		case !throughDoor(entry) && entry.Reason == "" && ReadySince(s.Pod).IsZero():
			return false // a JVM may start there
		case entry.Reason != "" && !ExecCannot(entry.Reason) && !throughDoor(entry) && KindOf(entry.Reason) != statemachine.Refused:
			return false // it is inspected again
		}
	}
	return true
}

// doorClosed returns why no ephemeral container may be added now; nil if it may. Adding
// one changes the pod for good, and takes a rollout slot like a load.
func (s *Scope) doorClosed(at transport.Container) *statemachine.Outcome {
	attached := func(p *v1alpha1.JavaProcess) bool {
		return p.ContainerID == at.ID && (MayHaveAgent(p) || p.Staged != nil)
	}
	if at.Transport != v1alpha1.TransportEphemeralContainer || s.DoorGate == nil || s.find(attached) != nil {
		return nil
	}
	return s.DoorGate(at.Name, at.ID)
}

// noteUser records the user that the JVM of a container runs as, if the ephemeral
// container ran as a different user and could not access it. It reports whether the user
// is new: the container is then inspected through another ephemeral container.
func (s *Scope) noteUser(at transport.Container, entry *v1alpha1.InspectedContainer, found []helperapi.Process) bool {
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
func (s *Scope) leads(c v1alpha1.InspectedContainer) bool {
	return throughDoor(&c) && s.find(func(p *v1alpha1.JavaProcess) bool { return p.Container == c.Name && MayHaveAgent(p) }) != nil
}

func parseUser(text string) *transport.User {
	var u transport.User
	if n, err := fmt.Sscanf(text, "%d:%d", &u.UID, &u.GID); n != 2 || err != nil {
		return nil
	}
	return &u
}

// throughDoors lists the containers that are reached through ephemeral containers, and
// why.
func (s *Scope) throughDoors() []string {
	var sentences []string
	for _, c := range s.Status().Containers {
		if !throughDoor(&c) || c.Reason != "" {
			continue
		}
		why := ""
		if c.TransportReason != "" {
			why = " (exec: " + c.TransportReason + ")"
		}
		sentences = append(sentences, fmt.Sprintf("Container %s is reached through an ephemeral container%s.", c.Name, why))
	}
	return sentences
}
