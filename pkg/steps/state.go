package steps

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// maxMessage is the maximum length of the message of one process or container in the
// record, in bytes.
const maxMessage = 1024

// PodState returns the state of the pod from its record.
func PodState(s *v1alpha1.JmxAttachmentStatus) statemachine.State {
	state := statemachine.State{Phase: statemachine.Phase(s.Phase), Reason: s.Reason, Attempt: attemptOf(s.Attempt)}
	if state.Reason == v1alpha1.ReasonNotReached { // nothing was tried for the next phase
		state.Reason = ""
	}
	if next, ok := Plan.Next(state.Phase); ok && state.Reason != "" {
		if c := meta.FindStatusCondition(s.Conditions, string(next)); c != nil {
			state.Message = c.Message
		}
	}
	return state
}

func processState(p *v1alpha1.JavaProcess) statemachine.State {
	return statemachine.State{Phase: statemachine.Phase(p.Phase), Reason: p.Reason, Message: p.Message, Attempt: attemptOf(p.Attempt)}
}

func setProcessState(p *v1alpha1.JavaProcess, s statemachine.State) {
	p.Phase, p.Reason, p.Message, p.Attempt = v1alpha1.Phase(s.Phase), s.Reason, text.Cut(s.Message, maxMessage), recordedAttempt(s.Attempt)
}

func containerState(c *v1alpha1.InspectedContainer) statemachine.State {
	return statemachine.State{Phase: Discovered, Reason: c.Reason, Message: c.Message, Attempt: attemptOf(c.Attempt)}
}

func setContainerState(c *v1alpha1.InspectedContainer, s statemachine.State) {
	c.Reason, c.Message, c.Attempt = s.Reason, text.Cut(s.Message, maxMessage), recordedAttempt(s.Attempt)
}

func attemptOf(a *v1alpha1.Attempt) *statemachine.Attempt {
	if a == nil {
		return nil
	}
	return &statemachine.Attempt{Key: a.Key, Phase: statemachine.Phase(a.Phase), Count: a.Count, LastError: a.LastError, NextTime: a.NextTime}
}

func recordedAttempt(a *statemachine.Attempt) *v1alpha1.Attempt {
	if a == nil {
		return nil
	}
	return &v1alpha1.Attempt{Key: a.Key, Phase: v1alpha1.Phase(a.Phase), Count: a.Count, LastError: text.Cut(a.LastError, 1024), NextTime: a.NextTime}
}

// State sets phase, reason and all conditions together, so that they cannot disagree:
// they are derived from the pod's own state and those of its JVMs. It returns the
// conditions whose status or reason changed.
func (s *Scope) State(pod statemachine.State, now time.Time) (changed []metav1.Condition) {
	state, status := s.Sum(pod), s.Status()
	status.ObservedGeneration = s.Attachment.Generation
	status.Phase = v1alpha1.Phase(cmp.Or(state.Phase, Pending))
	status.Reason, status.Attempt = state.Reason, recordedAttempt(state.Attempt)
	conditions := Plan.Conditions(state, KindOf, s.Held,
		statemachine.Held{Reason: v1alpha1.ReasonNotReached, Message: "This is the next phase."},
		statemachine.Held{Reason: v1alpha1.ReasonNotReached, Message: "An earlier phase does not hold yet."})
	if status.Reason == "" && state.Phase != Annotated {
		status.Reason = v1alpha1.ReasonNotReached
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScrapable, Message: "Prometheus can discover the pod's metrics."}
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, c.Reason, c.Message
			break
		}
	}
	return statemachine.SetConditions(&status.Conditions, s.Attachment.Generation, metav1.NewTime(now).Rfc3339Copy(), append(conditions, ready)...)
}
