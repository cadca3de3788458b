package steps

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// unstable returns why nothing is attached or changed now in a container that may exit by
// itself: it would look like the cause. It returns nil if nothing is known against it.
func (s *Situation) unstable(container, id string) *statemachine.Outcome {
	status, age := s.running(container, id)
	if status == nil {
		return nil
	}
	window := restartWindow(s.Exporter)
	if outcome := restarting(status, age, window); outcome != nil {
		return outcome
	}
	if s.proven(container) {
		return nil
	}
	return notReady(status, age, window)
}

// running returns the status and the age of one instance of a container; nil if it does not
// run, if its age is unknown, or if spec.rollout.restartWindow is disabled.
func (s *Situation) running(container, id string) (*corev1.ContainerStatus, time.Duration) {
	window, status := restartWindow(s.Exporter), s.containerStatus(container, id)
	if window == 0 || status == nil || status.State.Running == nil || status.State.Running.StartedAt.IsZero() {
		return nil, 0
	}
	age := s.Now.Sub(status.State.Running.StartedAt.Time)
	if age <= -window { // by another clock, which is not waited for
		return nil, 0
	}
	return status, max(age, 0)
}

// restarting returns why a container is unstable that has restarted. It assumes that
// instances exit at about the same age: an effect within a window before that age would
// look like the cause. The blocked time is two windows before that age and one window
// after it, so that an instance may exit one window earlier or later than the previous
// one.
func restarting(status *corev1.ContainerStatus, age, window time.Duration) *statemachine.Outcome {
	last := status.LastTerminationState.Terminated
	if last == nil || last.StartedAt.IsZero() {
		return nil
	}
	lifetime := last.FinishedAt.Sub(last.StartedAt.Time)
	from, until := lifetime-2*window, lifetime+window
	if age <= from || age >= until {
		return nil
	}
	outcome := record.NotDone(v1alpha1.ReasonContainerRestarting, fmt.Sprintf(
		"Container %s restarted: its previous instance exited after %s, and this one may exit at the same age. Attaches and changes are delayed until it has run for %s; see the log of the previous instance.",
		status.Name, lifetime, until))
	outcome.RetryAfter = until - age
	return &outcome
}

// notReady returns why a container is unstable that has just started: one that is never
// ready is often a bad release, which exits soon, or is rolled back.
func notReady(status *corev1.ContainerStatus, age, window time.Duration) *statemachine.Outcome {
	if status.Ready || age >= window {
		return nil
	}
	outcome := record.NotDone(v1alpha1.ReasonContainerNotReady, fmt.Sprintf(
		"Container %s is not ready. Attaches and changes are delayed until it is, or until it has run for %s (spec.rollout.restartWindow).", status.Name, window))
	outcome.RetryAfter = window - age
	return &outcome
}

// restarted returns why nothing is attached in a container that has restarted: it may exit
// again at any age, and nothing shows that it would not be the operator's fault. One that
// has proven the revision is attached to at once.
func (s *Situation) restarted(container, id string) *statemachine.Outcome {
	status, age := s.running(container, id)
	if status == nil || age >= provenAfter || status.LastTerminationState.Terminated == nil || s.proven(container) {
		return nil
	}
	outcome := record.NotDone(v1alpha1.ReasonContainerRestarting, fmt.Sprintf(
		"Container %s has restarted. It is attached to when it has run for %s; see the log of its previous instance.", container, provenAfter))
	outcome.RetryAfter = provenAfter - age
	return &outcome
}

// recovering returns why a container is not attached to again in a pod where one exited soon
// after an attach; nil if it may be. It waits until an instance has run for long enough.
// While the rollout is halted, or after a second exit, a person decides.
func (s *Situation) recovering(container string) *statemachine.Outcome {
	restart := s.Status().Restart
	if restart == nil || restart.Revision != s.Attachment.Spec.Revision || restartWindow(s.Exporter) == 0 || s.proven(container) {
		return nil
	}
	switch resume := HowToResume(v1alpha1.ReasonRestartedAfterAttach); {
	case Halted(s.Exporter, restart.Revision):
		return new(record.NotDone(v1alpha1.ReasonRestartedAfterAttach, restart.Message+" "+resume))
	case restart.Count > 1:
		return new(record.NotDone(v1alpha1.ReasonRestartedAfterAttach,
			restart.Message+" This happened twice in this pod, so it is not attached to again; see the log of the previous instance. Other pods continue. "+resume))
	}
	if restart.Time == nil { // an earlier release does not say when: long ago
		return nil
	}
	since := restart.Time.Time
	for _, status := range pod.ContainerStatuses(s.Pod) {
		running := status.State.Running
		if running != nil && status.Name == restart.Container && running.StartedAt.After(since) && !running.StartedAt.After(s.Now.Time) {
			since = running.StartedAt.Time
		}
	}
	left := s.provesAfter() - max(s.Now.Sub(since), 0)
	if left <= 0 {
		return nil
	}
	outcome := record.NotDone(v1alpha1.ReasonContainerRestarting, fmt.Sprintf("%s The pod is attached to again when the container has run for %s.", restart.Message, s.provesAfter()))
	outcome.RetryAfter = left
	return &outcome
}

// containerStatus returns the status of one instance of a container; nil if the kubelet
// does not report it.
func (s *Situation) containerStatus(container, id string) *corev1.ContainerStatus {
	all := pod.ContainerStatuses(s.Pod)
	i := slices.IndexFunc(all, func(c corev1.ContainerStatus) bool { return c.Name == container && c.ContainerID == id })
	if i < 0 {
		return nil
	}
	return &all[i]
}
