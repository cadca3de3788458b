package attachment

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// restarting returns why nothing is attached or changed now in a container that may be about to
// exit by itself, according to the kubelet; nil if it may be. It assumes
// that instances exit at about the same age: an effect within spec.rollout.restartWindow
// before that age would look like the cause. The blocked time is two windows before that
// age and one window after it, so that an instance may exit one window earlier or later
// than the previous one.
func restarting(s *steps.Scope, container, id string) *statemachine.Outcome {
	window := restartWindow(s)
	all := steps.ContainerStatuses(s.Pod)
	i := slices.IndexFunc(all, func(c corev1.ContainerStatus) bool { return c.Name == container && c.ContainerID == id })
	if i < 0 {
		return nil
	}
	now, last := all[i].State.Running, all[i].LastTerminationState.Terminated
	if window == 0 || now == nil || now.StartedAt.IsZero() || last == nil || last.StartedAt.IsZero() {
		return nil
	}
	age, lifetime := s.Now.Sub(now.StartedAt.Time), last.FinishedAt.Sub(last.StartedAt.Time)
	if age <= -window { // by another clock, which is not waited for
		return nil
	}
	age = max(age, 0)
	from, until := lifetime-2*window, lifetime+window
	if age <= from || age >= until {
		return nil
	}
	outcome := steps.NotDone(v1alpha1.ReasonContainerRestarting, fmt.Sprintf(
		"Container %s restarted: its previous instance exited after %s, and this one may exit at the same age. Attaches and changes are delayed until it has run for %s; see the log of the previous instance.",
		container, lifetime, until))
	outcome.RetryAfter = until - age
	return &outcome
}
