package attachment

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// gate returns why a phase of a JVM may not be tried yet; nil if it may. New files and
// loads wait until the exporter's rollout grants them; what is already in the JVM is
// kept. Inspections are never gated.
func (v *visit) gate(ctx context.Context, j *steps.JVM, next statemachine.Phase) *statemachine.Outcome {
	s, p := v.scope, j.Process
	switch {
	case j.UpToDate(next):
		return nil
	case next == steps.Staged && p.Staged != nil, next == steps.Loaded && p.Port != 0:
		return restarting(s, p.Container, p.ContainerID) // a change, too, would look like the cause of its exit
	}
	closed := func(reason, message string) *statemachine.Outcome { return new(steps.NotDone(reason, message)) }
	if restart := s.Status().Restart; restart != nil && restart.Revision == s.Attachment.Spec.Revision {
		return closed(v1alpha1.ReasonRestartedAfterAttach, restart.Message+" "+steps.HowToResume(v1alpha1.ReasonRestartedAfterAttach))
	}
	if outcome := restarting(s, p.Container, p.ContainerID); outcome != nil {
		return outcome
	}
	if refused := s.RefusesWarning(p); refused != nil {
		return refused
	}
	if refused := s.ProcessForbidden(ctx, p); refused != nil {
		return refused
	}
	if s.Exporter.Spec.Mode == v1alpha1.ModePreflight {
		return new(j.Preflight())
	}
	return v.notGranted()
}

// doorGate returns why no ephemeral container may be added for a container; nil if it
// may.
func (v *visit) doorGate(container, id string) *statemachine.Outcome {
	if outcome := restarting(v.scope, container, id); outcome != nil {
		return outcome
	}
	return v.notGranted()
}

// notGranted returns why the rollout has not reached the pod; nil if it has.
func (v *visit) notGranted() *statemachine.Outcome {
	s := v.scope
	closed := func(reason, message string) *statemachine.Outcome { return new(steps.NotDone(reason, message)) }
	switch {
	case s.Exporter.Spec.Mode == v1alpha1.ModePreflight:
		return closed(v1alpha1.ReasonPreflight, "The container can be reached only through an ephemeral container, which mode Preflight does not add.")
	case s.Granted:
		return nil
	case s.Exporter.Spec.Suspend:
		return closed(v1alpha1.ReasonSuspended, "The exporter is suspended (spec.suspend); nothing new is attached.")
	}
	if p := s.Problem(); p != nil { // no pod is granted
		return &statemachine.Outcome{Kind: statemachine.Broken, Reason: p.Reason, Message: p.Message}
	}
	if halted(s.Exporter, s.Exporter.Status.Revision) {
		return closed(v1alpha1.ReasonRolloutHalted, "The rollout is halted; status.halt of the exporter says why.")
	}
	return closed(v1alpha1.ReasonRolloutPending, "Waiting for a rollout slot (spec.rollout.maxConcurrent).")
}
