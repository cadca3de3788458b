package steps

import (
	"fmt"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
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
	case next == Loaded && p.ConfigSHA256 != "" && !j.grantedTo(p.Container): // its grant ended after the new files were staged
		return j.notGranted(p.Container)
	case next == Staged && p.Staged != nil, next == Loaded && p.Port != 0:
		return j.unstable(p.Container, p.ContainerID) // a change, too, would look like the cause of its exit
	}
	if outcome := j.recovering(p.Container); outcome != nil {
		return outcome
	}
	if outcome := j.restarted(p.Container, p.ContainerID); outcome != nil {
		return outcome
	}
	if outcome := j.unstable(p.Container, p.ContainerID); outcome != nil {
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
	return j.notGranted(p.Container)
}

// notGranted returns why the rollout has not reached a container of the pod; nil if it
// has.
func (s *Situation) notGranted(container string) *statemachine.Outcome {
	closed := func(reason, message string) *statemachine.Outcome { return new(record.NotDone(reason, message)) }
	switch {
	case s.Exporter.Spec.Mode == v1alpha1.ModePreflight:
		return closed(v1alpha1.ReasonPreflight, "The container can be reached only through an ephemeral container, which mode Preflight does not add.")
	case s.grantedTo(container):
		return nil
	case s.Exporter.Spec.Suspend:
		return closed(v1alpha1.ReasonSuspended, "The exporter is suspended (spec.suspend); nothing new is attached.")
	}
	if p := s.Problem(); p != nil { // no pod is granted
		return &statemachine.Outcome{Kind: statemachine.Broken, Reason: p.Reason, Message: p.Message}
	}
	if Halted(s.Exporter, s.Exporter.Status.Revision) {
		return closed(v1alpha1.ReasonRolloutHalted, "The rollout is halted; status.halt of the exporter says why.")
	}
	if Paused(s.Exporter, s.Exporter.Status.Revision) {
		return closed(v1alpha1.ReasonRolloutPending, "The rollout is paused after an exit in another pod, and continues by itself; status.restarts of the exporter names the pod.")
	}
	return closed(v1alpha1.ReasonRolloutPending, "Waiting for a rollout slot (spec.rollout.maxConcurrent).")
}

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

// loadWarns is the message of ReasonAgentLoadingWarns.
const loadWarns = "Loading the agent makes the JVM write the four warning lines of JEP 451 to the application's standard error. " +
	record.AdviceOnWarning + " Or accept them with spec.dynamicAgentLoading: Allow."

// refusesWarning returns why nothing is loaded into a process: its JVM would print a
// warning, which the exporter does not accept; nil otherwise. If the record does not
// know whether the JVM warns, the helper checks before it loads.
func (s *Situation) refusesWarning(p *v1alpha1.JavaProcess) *statemachine.Outcome {
	if !s.refusesOnWarning() || !p.LoadWarns || p.Excluded || p.Adopted || record.MayHaveAgent(p) {
		return nil
	}
	return new(record.NotDone(v1alpha1.ReasonAgentLoadingWarns, loadWarns))
}

// preflight returns the result of a preflight for a JVM that was found: what would
// prevent loading an agent, according to the inspection, or that nothing would.
func (j *JVM) preflight() statemachine.Outcome {
	if shortage := j.shortage(); shortage != nil {
		return *shortage
	}
	message := "The exporter is in mode Preflight (spec.mode); nothing is attached."
	if j.Process.LoadWarns && !j.Process.Adopted {
		message += " A load makes the JVM write the four warning lines of JEP 451 to the application's standard error."
	}
	return record.NotDone(v1alpha1.ReasonPreflight, message)
}

// shortage returns an Outcome if there was too little memory for a first load and its
// files; nil if there was enough, the check is disabled, or nothing is to be loaded.
// Only another inspection, or another spec.memoryHeadroom, changes the result: nothing
// is tried meanwhile.
func (j *JVM) shortage() *statemachine.Outcome {
	p, headroom := j.Process, pod.MemoryHeadroom(j.Exporter)
	if headroom <= 0 || p.FreeMemory == nil || p.Adopted || record.MayHaveAgent(p) {
		return nil
	}
	if refusal := pod.MemoryFor(j.Pod, p.Container).Refusal(); refusal != nil {
		return &statemachine.Outcome{Kind: statemachine.Broken, Reason: string(refusal.Reason), Message: refusal.Message}
	}
	need := headroom + 2*(j.Artifacts.Agent.Size+j.Artifacts.Implementation.Size+j.Config.Size)
	if p.FreeMemory.Value() >= need {
		return nil
	}
	const mib = 1 << 20
	return &statemachine.Outcome{Kind: statemachine.Broken, Reason: v1alpha1.ReasonInsufficientMemory, Message: fmt.Sprintf(
		"The first load of the agent, with its files, needs %d MiB free below the memory limit; about %s were free when the container was inspected. Raise the limit, lower the application's use (-Xmx), or lower spec.memoryHeadroom.",
		(need+mib-1)/mib, p.FreeMemory)}
}
