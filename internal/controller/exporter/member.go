package exporter

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// member is a pod with its record, which is nil until it is created.
type member struct {
	pod        *corev1.Pod
	attachment *v1alpha1.JmxAttachment
}

// phase returns the phase of the member; Pending until its record has one.
func (m member) phase() v1alpha1.Phase {
	if m.attachment == nil || m.attachment.Status.Phase == "" {
		return v1alpha1.PhasePending
	}
	return m.attachment.Status.Phase
}

// notAttachable are the reasons for which nothing is attached to a suitable JVM,
// whatever the rollout grants.
var notAttachable = []string{v1alpha1.ReasonContainerRestarting, v1alpha1.ReasonContainerNotReady, v1alpha1.ReasonAgentLoadingWarns, v1alpha1.ReasonPodProtected, v1alpha1.ReasonNotAuthorized}

// attachable reports whether the pod was inspected and, according to that, has a JVM
// that can be attached to.
func (m member) attachable() bool {
	if m.attachment == nil || detaching(m.attachment) {
		return false
	}
	if slices.ContainsFunc(m.attachment.Status.Containers, func(c v1alpha1.InspectedContainer) bool {
		return c.Transport == v1alpha1.TransportEphemeralContainer && record.KindOf(c.Reason) == statemachine.Awaiting && !slices.Contains(notAttachable, c.Reason)
	}) {
		return true // it takes an ephemeral container, which is added when its turn has come
	}
	return slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool {
		return !p.Excluded && steps.Plan.Reached(statemachine.Phase(p.Phase), steps.JavaFound) && !slices.Contains(notAttachable, p.Reason)
	})
}

// stillRunning returns the member without the JVMs whose containers have ended: nobody else
// withdraws those of a pod that is terminating.
func (m member) stillRunning() member {
	a := *m.attachment
	a.Status.Processes = nil
	for _, p := range m.attachment.Status.Processes {
		if record.Runs(m.pod, &p) {
			a.Status.Processes = append(a.Status.Processes, p)
		}
	}
	return member{m.pod, &a}
}

// cameBack reports whether the pod was being detached and still has its old grant. It
// counts as a new pod.
func (m member) cameBack() bool {
	return m.attachment != nil && detaching(m.attachment) && m.attachment.Spec.Revision != ""
}

func detaching(a *v1alpha1.JmxAttachment) bool { return a.Status.DetachStartTime != nil }

// refused reports whether the member needs a person.
func (m member) refused() bool {
	return m.attachment != nil && v1alpha1.NeedsPerson(m.attachment.Status.Reason)
}

// exposed returns the endpoints of a member whose Exposed is True.
func (m member) exposed() []v1alpha1.MetricsEndpoint {
	if m.attachment == nil || !meta.IsStatusConditionTrue(m.attachment.Status.Conditions, string(v1alpha1.PhaseExposed)) {
		return nil
	}
	var exposed []v1alpha1.MetricsEndpoint
	for _, p := range m.attachment.Status.Processes {
		if p.Endpoint != nil {
			exposed = append(exposed, v1alpha1.MetricsEndpoint{Pod: m.pod.Name, Container: p.Container, Port: p.Endpoint.Port})
		}
	}
	return exposed
}

// releasing reports whether an excluded JVM of the pod may still have the agent. Its other
// JVMs keep it Annotated meanwhile.
func (m member) releasing() bool {
	return m.attachment != nil && slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool {
		return p.Excluded && record.MayHaveAgent(&p)
	})
}

// changeDelayed reports whether a JVM that serves is changed only after its container may
// have exited by itself, or is ready. That is soon, and without its slot the pod would then be changed
// together with all others that wait for the same.
func (m member) changeDelayed() bool {
	return slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool {
		return v1alpha1.AwaitsPod(p.Reason) && p.Endpoint != nil
	})
}

// standsStill reports whether a pod is not expected to make progress soon. If nothing
// was done to the pod yet, the first failure decides; later, the change itself may be
// what fails, and the next pod waits for a few tries.
func standsStill(m member) bool {
	const maxSlotTries = 5
	attempt := m.attachment.Status.Attempt
	if attempt == nil {
		return false
	}
	untouched := m.phase() == v1alpha1.PhasePending || m.phase() == v1alpha1.PhaseDiscovered
	return attempt.Count > maxSlotTries || untouched && !v1alpha1.Passing(m.attachment.Status.Reason) && v1alpha1.Known(m.attachment.Status.Reason)
}

// messageOf returns a record's message for its reason.
func messageOf(a *v1alpha1.JmxAttachment) string {
	if ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}
