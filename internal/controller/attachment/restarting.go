package attachment

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// restarting is why nothing is attached or changed now in a container that may be about to
// exit by itself, by what the kubelet says of it; nil when it is not. Its instances are
// taken to exit at about the same age: an attach within spec.rollout.restartWindow before
// that would look like the cause. The window counts twice before that age, and once after it,
// so that an instance may exit a window earlier or later than the one before.
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
		"Container %s restarted: its previous instance exited %s after its start, and this one may, too. Nothing is attached or changed until it has run for %s; see the log of the previous instance.",
		container, lifetime, until))
	outcome.RetryAfter = until - age
	return &outcome
}
