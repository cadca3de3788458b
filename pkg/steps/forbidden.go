package steps

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// podProtected returns why nothing may be executed in the pod; nil if it may, or if an
// agent may already be there.
func (s *Situation) podProtected() *statemachine.Outcome {
	if slices.ContainsFunc(pod.Running(s.Pod), s.mayServe) {
		return nil
	}
	return protected(s.Protection.Pod(s.Pod))
}

// containerForbidden returns why nothing may be executed in the container, by the
// operator's flags and the rights of the user who wrote the exporter; nil if it may, or if
// an agent may already be there: existing endpoints keep serving when a right is withdrawn.
func (s *Situation) containerForbidden(c pod.Container) *statemachine.Outcome {
	if s.mayServe(c) {
		return nil
	}
	return s.forbidden(c.Name)
}

// processForbidden returns why nothing may be loaded into a process that was found while
// flags and rights allowed it; nil if it may, or if an agent is already there.
func (s *Situation) processForbidden(p *v1alpha1.JavaProcess) *statemachine.Outcome {
	if record.Serves(p) {
		return nil
	}
	return s.forbidden(p.Container)
}

func (s *Situation) forbidden(container string) *statemachine.Outcome {
	if refused := protected(s.Protection.Container(s.Pod, container)); refused != nil {
		return refused
	}
	if s.Unauthorized == nil {
		return nil
	}
	return s.Unauthorized()
}

func protected(why string) *statemachine.Outcome {
	if why == "" {
		return nil
	}
	return new(record.NotDone(v1alpha1.ReasonPodProtected, why))
}
