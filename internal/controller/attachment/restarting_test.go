package attachment

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// How long a container that restarts by itself must run before it is attached to: no
// attach within the window before the age at which its previous instance exited, give
// or take a window.
func TestRestarting(t *testing.T) {
	const window = time.Minute
	for name, tc := range map[string]struct {
		before time.Duration // lifetime of the previous instance
		age    time.Duration // of this instance
		how    func(*steps.Scope, *corev1.ContainerStatus)
		want   time.Duration
	}{
		"the container has just started":                   {before: 20 * time.Second, want: 80 * time.Second},
		"the container runs":                               {before: 20 * time.Second, age: 45 * time.Second, want: 35 * time.Second},
		"the container has outlived its previous instance": {before: 20 * time.Second, age: 80 * time.Second},
		"the previous instance exited immediately":         {before: 0, age: 10 * time.Second, want: 50 * time.Second},
		"the lifetime equals the window":                   {before: window, age: 3 * time.Second, want: 2*window - 3*time.Second},
		"the lifetime is just above the window":            {before: 70 * time.Second, age: 15 * time.Second, want: 115 * time.Second},
		"the lifetime is longer":                           {before: 5 * time.Minute, age: 3 * time.Second},
		"the container is far from its expected exit":      {before: 5 * time.Minute, age: 3 * time.Minute},
		"the container is near its expected exit":          {before: 5 * time.Minute, age: 3*time.Minute + time.Second, want: 3*time.Minute - time.Second},
		"the container is just past its expected exit":     {before: 5 * time.Minute, age: 5*time.Minute + time.Second, want: 59 * time.Second},
		"the node's clock is ahead":                        {before: 20 * time.Second, age: -3 * time.Second, want: 80 * time.Second},
		"the node's clock is far ahead":                    {before: 20 * time.Second, age: -time.Hour},
		"the container never exited":                       {how: func(_ *steps.Scope, c *corev1.ContainerStatus) { c.LastTerminationState.Terminated = nil }},
		"the start of the previous instance is unknown": {how: func(_ *steps.Scope, c *corev1.ContainerStatus) {
			c.LastTerminationState.Terminated.StartedAt = metav1.Time{}
		}},
		"the start of this instance is unknown": {how: func(_ *steps.Scope, c *corev1.ContainerStatus) { c.State.Running.StartedAt = metav1.Time{} }},
		"another container restarts":            {how: func(_ *steps.Scope, c *corev1.ContainerStatus) { c.ContainerID = "containerd://2" }},
		"the window is 0":                       {how: func(s *steps.Scope, _ *corev1.ContainerStatus) { s.Exporter.Spec.Rollout.RestartWindow.Duration = 0 }},
		"the window is not set":                 {how: func(s *steps.Scope, _ *corev1.ContainerStatus) { s.Exporter.Spec.Rollout.RestartWindow = nil }},
		"the container is a sidecar": {before: 20 * time.Second, age: 20 * time.Second, want: time.Minute, how: func(s *steps.Scope, _ *corev1.ContainerStatus) {
			s.Pod.Status.InitContainerStatuses, s.Pod.Status.ContainerStatuses = s.Pod.Status.ContainerStatuses, nil
		}},
	} {
		s := aScope()
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: window}
		began := start.Add(-tc.age)
		app := &s.Pod.Status.ContainerStatuses[0]
		app.State.Running.StartedAt = metav1.NewTime(began)
		app.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			StartedAt: metav1.NewTime(began.Add(-time.Hour)), FinishedAt: metav1.NewTime(began.Add(tc.before - time.Hour)),
		}
		if tc.how != nil {
			tc.how(s, app)
		}
		var got time.Duration
		if outcome := restarting(s, s.Status().Processes[0].Container, s.Status().Processes[0].ContainerID); outcome != nil {
			got = outcome.RetryAfter
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}
