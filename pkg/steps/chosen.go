package steps

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// keepsAll reports whether the record must be restored from what is in the pod, whatever
// the exporter selects when its rollout reaches the pod: the record was lost, and its
// endpoints are published.
func (s *Situation) keepsAll() bool {
	return !s.granted() && s.lost()
}

// chooses reports whether the exporter's current selection of containers and processes
// applies: its rollout has reached the pod, or the pod has nothing to keep.
func (s *Situation) chooses() bool {
	return s.granted() || len(s.Published) == 0 && s.Find(record.Serves) == nil
}

// containers returns the running containers that the exporter lists, or all.
func (s *Situation) containers() []pod.Container {
	named := s.Exporter.Spec.Containers
	if s.keepsAll() {
		named = nil
	}
	return slices.DeleteFunc(pod.Running(s.Pod), func(c pod.Container) bool {
		return len(named) > 0 && !slices.Contains(named, v1alpha1.ContainerName(c.Name))
	})
}
