package steps

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// recordContainer records the outcome of inspecting a container.
func (s *Scope) recordContainer(entry *v1alpha1.InspectedContainer, o statemachine.Outcome) {
	state := containerState(entry)
	state.Record(JavaFound, s.Key(), o, s.Now.Time)
	setContainerState(entry, state)
	if o.Kind == statemachine.Done {
		entry.Time, entry.Ready = new(s.Now), !ReadySince(s.Pod).IsZero()
	}
}

// inspected returns the record's entry for a container; nil if there is none.
func (s *Scope) inspected(name string) *v1alpha1.InspectedContainer {
	for i := range s.Status().Containers {
		if c := &s.Status().Containers[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// current returns the record's entry of a container as it runs now; nil if there is none.
func (s *Scope) current(c container) *v1alpha1.InspectedContainer {
	if entry := s.inspected(c.name); entry != nil && entry.ContainerID == c.id {
		return entry
	}
	return nil
}

// expect marks the container as awaiting an inspection.
func (s *Scope) expect(c container) {
	if s.inspected(c.name) == nil {
		s.Status().Containers = append(s.Status().Containers, v1alpha1.InspectedContainer{Name: c.name})
	}
}

// InspectAgain requests another inspection of a container, because a process in it is
// gone.
func (s *Scope) InspectAgain(name string) {
	if entry := s.inspected(name); entry != nil {
		entry.ContainerID = ""
	}
}

// inspectedOrNew returns the record's entry for a container, or a new one.
func (s *Scope) inspectedOrNew(c container) *v1alpha1.InspectedContainer {
	s.expect(c)
	entry := s.inspected(c.name)
	if entry.ContainerID != c.id {
		before := *entry
		*entry = v1alpha1.InspectedContainer{
			Name: c.name, ContainerID: c.id, Time: before.Time, Rules: before.Rules,
			// The new instance has the same image.
			Transport: before.Transport, TransportReason: before.TransportReason, User: before.User,
		}
	}
	return entry
}
