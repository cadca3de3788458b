package attachment

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// restarting is the time until something may be attached in a container that restarts
// by itself, by what the kubelet says of it; 0 for now. An instance that ended young
// would end the next one's attach young too, and that would look like the attach's
// fault: it counts as running once it has outlived spec.rollout.restartWindow.
func restarting(s *steps.Scope, p *v1alpha1.JavaProcess) time.Duration {
	window := ptr.Deref(s.Exporter.Spec.Rollout.RestartWindow, metav1.Duration{}).Duration
	all := slices.Concat(s.Pod.Status.ContainerStatuses, s.Pod.Status.InitContainerStatuses)
	i := slices.IndexFunc(all, func(c corev1.ContainerStatus) bool { return c.Name == p.Container && c.ContainerID == p.ContainerID })
	if i < 0 {
		return 0
	}
	now, last := all[i].State.Running, all[i].LastTerminationState.Terminated
	if now == nil || now.StartedAt.IsZero() || last == nil || last.StartedAt.IsZero() || last.FinishedAt.Sub(last.StartedAt.Time) >= window {
		return 0
	}
	age := s.Now.Sub(now.StartedAt.Time)
	if age <= -window { // by another clock, which is not waited for
		return 0
	}
	return max(window-max(age, 0), 0)
}
