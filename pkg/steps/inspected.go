package steps

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// recordContainer records what inspecting a container came to.
func (s *Scope) recordContainer(entry *v1alpha1.InspectedContainer, o statemachine.Outcome) {
	state := containerState(entry)
	state.Record(JavaFound, s.Key(), o, s.Now.Time)
	setContainerState(entry, state)
	if o.Kind == statemachine.Done {
		entry.Time, entry.Ready = new(s.Now), !ReadySince(s.Pod).IsZero()
	}
}

// inspected is what the record has of a container; nil if it has nothing.
func (s *Scope) inspected(name string) *v1alpha1.InspectedContainer {
	for i := range s.Status().Containers {
		if c := &s.Status().Containers[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// current is what the record has of a container as it runs now; nil if it has nothing.
func (s *Scope) current(c container) *v1alpha1.InspectedContainer {
	if entry := s.inspected(c.name); entry != nil && entry.ContainerID == c.id {
		return entry
	}
	return nil
}

// expect has the record wait for an inspection of the container.
func (s *Scope) expect(c container) {
	if s.inspected(c.name) == nil {
		s.Status().Containers = append(s.Status().Containers, v1alpha1.InspectedContainer{Name: c.name})
	}
}

// InspectAgain has a container inspected again: a process in it is gone.
func (s *Scope) InspectAgain(name string) {
	if entry := s.inspected(name); entry != nil {
		entry.ContainerID = ""
	}
}

// inspectedOrNew is what current is, or a new entry.
func (s *Scope) inspectedOrNew(c container) *v1alpha1.InspectedContainer {
	s.expect(c)
	entry := s.inspected(c.name)
	if entry.ContainerID != c.id {
		before := *entry
		*entry = v1alpha1.InspectedContainer{
			Name: c.name, ContainerID: c.id, Time: before.Time, Rules: before.Rules,
			// It is of the same image.
			Transport: before.Transport, TransportReason: before.TransportReason, User: before.User,
		}
	}
	return entry
}
