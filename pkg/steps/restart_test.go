package steps

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// What counts as a restart after an attach, and its message.
func TestRestartOf(t *testing.T) {
	const window = time.Minute
	ended := func(s *scene, at time.Duration) {
		s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2"
		s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(start.Add(at)),
		}
	}
	// beside replaces process 8 by another process in a container.
	beside := func(container, id string) func(*scene) {
		return func(s *scene) {
			s.Status().Processes[0].PID = 8
			s.Status().Processes = append(s.Status().Processes, v1alpha1.JavaProcess{Container: container, ContainerID: id, PID: 7, StartTime: 11})
		}
	}
	cases := map[string]struct {
		intent time.Duration // begin of the attach, relative to now
		none   bool          // no attach at all
		how    func(*scene)
		want   string
	}{
		"nothing exited":             {intent: -time.Second, how: func(*scene) {}},
		"the container was replaced": {intent: -3 * time.Second, how: func(s *scene) { s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2" }, want: "Container app exited 3s after an attach."},
		"the container was replaced, and its exit is reported": {intent: -time.Hour, how: func(s *scene) { ended(s, -time.Hour+2*time.Second) }, want: "Container app exited 2s after an attach: exit code 137, OOMKilled."},
		"the container completed": {intent: -time.Hour, how: func(s *scene) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}},
		"the container completed, and restarted": {intent: -time.Hour, how: func(s *scene) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}, want: "Container app exited 2s after an attach: exit code 0, OOMKilled."},
		"the container waits":                                   {intent: -3 * time.Second, how: func(s *scene) { s.Pod.Status.ContainerStatuses[0].State = corev1.ContainerState{} }, want: "Container app exited 3s after an attach."},
		"the node's clock is behind":                            {intent: -time.Second, how: func(s *scene) { s.Status().Processes[0].Port = 9400; ended(s, -5*time.Second) }, want: "Container app exited 0s after an attach: exit code 137, OOMKilled."},
		"the container exited before the load":                  {intent: -time.Second, how: func(s *scene) { ended(s, -5*time.Second) }},
		"the container exits at the end of the window":          {intent: -window, how: func(s *scene) { s.Pod.Status.ContainerStatuses = nil }},
		"the container exits just before the end of the window": {intent: time.Second - window, how: func(s *scene) { s.Pod.Status.ContainerStatuses = nil }, want: "Container app exited 59s after an attach."},
		"the container was never attached to":                   {none: true, how: func(s *scene) { s.Pod.Status.ContainerStatuses = nil }},
		"the JVM is adopted":                                    {intent: -time.Second, how: func(s *scene) { s.Status().Processes[0].Adopted = true; s.Pod.Status.ContainerStatuses = nil }},
		"a tool beside the application exits":                   {intent: -4 * time.Second, how: beside("app", "containerd://1")},
		"the primary process exits beside another":              {intent: -4 * time.Second, how: func(s *scene) { beside("app", "containerd://1")(s); s.Status().Processes[0].Primary = true }, want: "Java process 8 in container app exited 4s after an attach."},
		"the process exits beside its launcher": {intent: -4 * time.Second, how: func(s *scene) {
			beside("app", "containerd://1")(s)
			s.Status().Processes[1].Excluded = true
		}, want: "Java process 8 in container app exited 4s after an attach."},
		"the process exits beside one in another container":    {intent: -4 * time.Second, how: beside("worker", "containerd://9"), want: "Java process 8 in container app exited 4s after an attach."},
		"the process exits beside one of an earlier container": {intent: -4 * time.Second, how: beside("app", "containerd://0"), want: "Java process 8 in container app exited 4s after an attach."},
		"the tool exits together with its container":           {intent: -4 * time.Second, how: func(s *scene) { beside("app", "containerd://1")(s); s.Pod.Status.ContainerStatuses = nil }, want: "Container app exited 4s after an attach."},
		"the process exits in a running container":             {intent: -4 * time.Second, how: func(s *scene) { s.Status().Processes[0].PID = 8 }, want: "Java process 8 in container app exited 4s after an attach."},
	}
	for name, tc := range cases {
		s := aPod()
		s.Status().Revision, s.Attachment.Spec.Revision = "old", revision // granted, and not yet applied to the pod
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: window}
		if !tc.none {
			s.Status().Processes[0].Intent = &v1alpha1.LoadIntent{Time: metav1.NewTime(start.Add(tc.intent))}
		}
		tc.how(s)
		s.Begun = s.Status()
		gone := func(p *v1alpha1.JavaProcess) bool { return !record.Runs(s.Pod, p) || p.PID == 8 }
		got := ""
		if r := s.restartOf(s.Exporter, gone); r != nil {
			if got = r.Message; r.Revision != "old" || r.Container != "app" {
				t.Errorf("%s: unexpected restart %+v", name, r)
			}
		}
		if got != tc.want {
			t.Errorf("%s: message: got %q, want %q", name, got, tc.want)
		}
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{}
		if r := s.restartOf(s.Exporter, gone); r != nil {
			t.Errorf("%s: with a window of 0: got %+v, want none", name, r)
		}
	}
}

// How long a container that restarts by itself must run before it is attached to: no
// attach within the window before the age at which its previous instance exited, give
// or take a window.
func TestRestarting(t *testing.T) {
	const window = time.Minute
	for name, tc := range map[string]struct {
		before time.Duration // lifetime of the previous instance
		age    time.Duration // of this instance
		how    func(*scene, *corev1.ContainerStatus)
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
		"the container never exited":                       {how: func(_ *scene, c *corev1.ContainerStatus) { c.LastTerminationState.Terminated = nil }},
		"the start of the previous instance is unknown": {how: func(_ *scene, c *corev1.ContainerStatus) {
			c.LastTerminationState.Terminated.StartedAt = metav1.Time{}
		}},
		"the start of this instance is unknown": {how: func(_ *scene, c *corev1.ContainerStatus) { c.State.Running.StartedAt = metav1.Time{} }},
		"another container restarts":            {how: func(_ *scene, c *corev1.ContainerStatus) { c.ContainerID = "containerd://2" }},
		"the window is 0":                       {how: func(s *scene, _ *corev1.ContainerStatus) { s.Exporter.Spec.Rollout.RestartWindow.Duration = 0 }},
		"the window is not set":                 {how: func(s *scene, _ *corev1.ContainerStatus) { s.Exporter.Spec.Rollout.RestartWindow = nil }},
		"the container is a sidecar": {before: 20 * time.Second, age: 20 * time.Second, want: time.Minute, how: func(s *scene, _ *corev1.ContainerStatus) {
			s.Pod.Status.InitContainerStatuses, s.Pod.Status.ContainerStatuses = s.Pod.Status.ContainerStatuses, nil
		}},
	} {
		s := aPod()
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
		if outcome := s.restarting(s.Status().Processes[0].Container, s.Status().Processes[0].ContainerID); outcome != nil {
			got = outcome.RetryAfter
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}
