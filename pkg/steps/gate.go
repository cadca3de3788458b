package steps

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Gate returns why a phase of the JVM may not be tried yet; nil if it may. New files and
// loads wait until the exporter's rollout grants them; what is already in the JVM is
// kept. Inspections are never gated.
func (j *JVM) Gate(next statemachine.Phase) *statemachine.Outcome {
	p := j.Process
	switch {
	case j.upToDate(next):
		return nil
	case next == Staged && p.Staged != nil, next == Loaded && p.Port != 0:
		return j.restarting(p.Container, p.ContainerID) // a change, too, would look like the cause of its exit
	}
	closed := func(reason, message string) *statemachine.Outcome { return new(record.NotDone(reason, message)) }
	if restart := j.Status().Restart; restart != nil && restart.Revision == j.Attachment.Spec.Revision {
		return closed(v1alpha1.ReasonRestartedAfterAttach, restart.Message+" "+HowToResume(v1alpha1.ReasonRestartedAfterAttach))
	}
	if outcome := j.restarting(p.Container, p.ContainerID); outcome != nil {
		return outcome
	}
	if refused := j.refusesWarning(p); refused != nil {
		return refused
	}
	if refused := j.processForbidden(p); refused != nil {
		return refused
	}
	if j.Exporter.Spec.Mode == v1alpha1.ModePreflight {
		return new(j.preflight())
	}
	return j.notGranted()
}

// notGranted returns why the rollout has not reached the pod; nil if it has.
func (s *Situation) notGranted() *statemachine.Outcome {
	closed := func(reason, message string) *statemachine.Outcome { return new(record.NotDone(reason, message)) }
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
	if halt := s.Exporter.Status.Halt; halt != nil && halt.Revision == s.Exporter.Status.Revision {
		return closed(v1alpha1.ReasonRolloutHalted, "The rollout is halted; status.halt of the exporter says why.")
	}
	return closed(v1alpha1.ReasonRolloutPending, "Waiting for a rollout slot (spec.rollout.maxConcurrent).")
}
