package record

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// Inspected returns the record's entry for a container; nil if there is none.
func (r Record) Inspected(name string) *v1alpha1.InspectedContainer {
	for i := range r.Status().Containers {
		if c := &r.Status().Containers[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// Current returns the record's entry of a container as it runs now; nil if there is none.
func (r Record) Current(c pod.Container) *v1alpha1.InspectedContainer {
	if entry := r.Inspected(c.Name); entry != nil && entry.ContainerID == c.ID {
		return entry
	}
	return nil
}

// Expect marks the container as awaiting an inspection.
func (r Record) Expect(c pod.Container) {
	if r.Inspected(c.Name) == nil {
		r.Status().Containers = append(r.Status().Containers, v1alpha1.InspectedContainer{Name: c.Name})
	}
}

// InspectAgain requests another inspection of a container, because a process in it is
// gone.
func (r Record) InspectAgain(name string) {
	if entry := r.Inspected(name); entry != nil {
		entry.ContainerID = ""
	}
}

// InspectedOrNew returns the record's entry for a container, or a new one.
func (r Record) InspectedOrNew(c pod.Container) *v1alpha1.InspectedContainer {
	r.Expect(c)
	entry := r.Inspected(c.Name)
	if entry.ContainerID != c.ID {
		before := *entry
		if before.TransportReason == v1alpha1.ReasonNodeAgentRefused { // it is asked again
			before.Transport, before.TransportReason, before.NodeAgentUID = "", "", ""
		}
		*entry = v1alpha1.InspectedContainer{
			Name: c.Name, ContainerID: c.ID, Time: before.Time, Rules: before.Rules,
			// The new instance has the same image.
			Transport: before.Transport, TransportReason: before.TransportReason, NodeAgentUID: before.NodeAgentUID, User: before.User,
			ProvenRevision: before.ProvenRevision,
		}
	}
	return entry
}

// EndpointsKnown reports whether the record knows all endpoints of its pod. A record
// that replaces a lost one does not, until each container was inspected once and each
// agent has reported what it serves.
func EndpointsKnown(status *v1alpha1.JmxAttachmentStatus) bool {
	return len(status.Containers) > 0 &&
		!slices.ContainsFunc(status.Containers, func(c v1alpha1.InspectedContainer) bool { return c.Time == nil && !v1alpha1.NeedsPerson(c.Reason) }) &&
		!slices.ContainsFunc(status.Processes, func(p v1alpha1.JavaProcess) bool {
			return p.AgentFound && p.Port == 0 && p.Phase == v1alpha1.PhaseDiscovered
		})
}

// UnseenPorts returns the ports of published endpoints that may be in containers that the
// operator no longer inspects. Nothing but these is known to be in them.
func UnseenPorts(status *v1alpha1.JmxAttachmentStatus) []int32 {
	var ports []int32
	for _, c := range status.Containers {
		ports = append(ports, c.UnseenPorts...)
	}
	return ports
}

// ThroughDoor reports whether a container is reached through an ephemeral container.
func ThroughDoor(entry *v1alpha1.InspectedContainer) bool {
	return entry.Transport == v1alpha1.TransportEphemeralContainer
}
