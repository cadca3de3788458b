package attachment

import (
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// gate tells why a step may not be taken yet; nil when it may. It is closed
// before what is new in the pod, until the exporter's rollout grants it: what is
// in there already is kept as it is.
func (w *walk) gate(step steps.Step) *steps.Outcome {
	s := w.scope
	switch step.Phase() {
	case statemachine.JavaFound:
		if len(s.Published) > 0 && s.Status().Inspected == nil {
			return nil // the record is a new one, the agent is not
		}
	case statemachine.Staged:
	case statemachine.Loaded:
		if !w.first() {
			return nil
		}
	default:
		return nil
	}
	if restart := s.Status().Restart; restart != nil && restart.Revision == s.Attachment.Spec.Revision {
		return new(steps.NotReached(v1alpha1.ReasonRestartedAfterAttach, restart.Message+" "+howToResume))
	}
	switch {
	case s.Granted:
		return nil
	case s.Exporter.Spec.Suspend:
		return new(steps.NotReached(v1alpha1.ReasonSuspended, "The exporter is suspended: nothing new is done while spec.suspend is true."))
	case halted(s.Exporter, s.Exporter.Status.Revision):
		return new(steps.NotReached(v1alpha1.ReasonRolloutHalted, "The rollout was stopped; the exporter's status.halt says why."))
	case s.Config.Problem != nil: // nobody's turn comes
		return new(steps.NotReached(s.Config.Problem.Reason, s.Config.Problem.Message))
	}
	return new(steps.NotReached(v1alpha1.ReasonRolloutPending, "The pod waits for its turn: spec.rollout says how many are worked on at once."))
}

// first tells whether there is a process that an agent was never in.
func (w *walk) first() bool {
	for _, p := range w.scope.Chosen() {
		if !p.Adopted && p.Port == 0 {
			return true
		}
	}
	return false
}

var howToResume = fmt.Sprintf("To go on, change the configuration, or give the exporter's annotation %s another value.", steps.AnnotationResume)
