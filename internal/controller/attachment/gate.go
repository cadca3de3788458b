package attachment

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// gate is why a phase of a JVM may not be tried yet; nil when it may. It is closed
// before what is new in the JVM, until the exporter's rollout grants it: what is in
// there already is kept as it is. Looking for JVMs is free.
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
	if refused := s.ProcessProtected(p); refused != nil {
		return refused
	}
	if refused := s.ProcessNotAuthorized(ctx, p); refused != nil {
		return refused
	}
	if s.Exporter.Spec.Mode == v1alpha1.ModePreflight {
		return new(j.Preflight())
	}
	return v.notGranted()
}

// doorGate is why no ephemeral container may be added for a container; nil when it may.
func (v *visit) doorGate(container, id string) *statemachine.Outcome {
	if outcome := restarting(v.scope, container, id); outcome != nil {
		return outcome
	}
	return v.notGranted()
}

// notGranted is why the rollout has not come to the pod; nil when it has.
func (v *visit) notGranted() *statemachine.Outcome {
	s := v.scope
	closed := func(reason, message string) *statemachine.Outcome { return new(steps.NotDone(reason, message)) }
	switch {
	case s.Exporter.Spec.Mode == v1alpha1.ModePreflight:
		return closed(v1alpha1.ReasonPreflight, "Only an ephemeral container reaches the container, and mode Preflight adds none.")
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
