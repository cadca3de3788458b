package steps

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// mayHaveBeenSeen reports whether a record that was lost may have known what is in a container:
// this one has not inspected it, and the container has not restarted since.
func (s *Situation) mayHaveBeenSeen(c pod.Container) bool {
	before := s.Inspected(c.Name)
	return s.lost() && (before == nil || before.Time == nil && (before.ContainerID == "" || before.ContainerID == c.ID))
}

// publishedPorts returns the ports of the pod's published endpoints: those that a container may serve
// that is protected now, until recognize finds them elsewhere. A port where nobody listens any
// more is among them: no connection is not proof of that where a NetworkPolicy may stand between,
// and the operator may not look from within the pod.
func (s *Situation) publishedPorts() []int32 {
	var ports []int32
	for _, e := range s.Published {
		if e.Address == s.Pod.Status.PodIP && !slices.Contains(ports, e.Port) {
			ports = append(ports, e.Port)
		}
	}
	return ports[:min(len(ports), maxProcesses)]
}

// holdsUnseen reports whether an entry is all that is known of what its container may serve.
func (s *Situation) holdsUnseen(entry v1alpha1.InspectedContainer) bool {
	return len(entry.UnseenPorts) > 0 &&
		slices.ContainsFunc(pod.Running(s.Pod), func(c pod.Container) bool { return c.Name == entry.Name && c.ID == entry.ContainerID })
}
