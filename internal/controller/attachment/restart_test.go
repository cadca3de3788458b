package attachment

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// What counts as a restart after an attach, and its message.
func TestRestartOf(t *testing.T) {
	const window = time.Minute
	ended := func(s *steps.Scope, at time.Duration) {
		s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2"
		s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(start.Add(at)),
		}
	}
	// beside replaces process 8 by another process in a container.
	beside := func(container, id string) func(*steps.Scope) {
		return func(s *steps.Scope) {
			s.Status().Processes[0].PID = 8
			s.Status().Processes = append(s.Status().Processes, v1alpha1.JavaProcess{Container: container, ContainerID: id, PID: 7, StartTime: 11})
		}
	}
	cases := map[string]struct {
		intent time.Duration // begin of the attach, relative to now
		none   bool          // no attach at all
		how    func(*steps.Scope)
		want   string
	}{
		"nothing exited":             {intent: -time.Second, how: func(*steps.Scope) {}},
		"the container was replaced": {intent: -3 * time.Second, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2" }, want: "Container app exited 3s after an attach."},
		"the container was replaced, and its exit is reported": {intent: -time.Hour, how: func(s *steps.Scope) { ended(s, -time.Hour+2*time.Second) }, want: "Container app exited 2s after an attach: exit code 137, OOMKilled."},
		"the container completed": {intent: -time.Hour, how: func(s *steps.Scope) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}},
		"the container completed, and restarted": {intent: -time.Hour, how: func(s *steps.Scope) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}, want: "Container app exited 2s after an attach: exit code 0, OOMKilled."},
		"the container waits":                                   {intent: -3 * time.Second, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses[0].State = corev1.ContainerState{} }, want: "Container app exited 3s after an attach."},
		"the node's clock is behind":                            {intent: -time.Second, how: func(s *steps.Scope) { s.Status().Processes[0].Port = 9400; ended(s, -5*time.Second) }, want: "Container app exited 0s after an attach: exit code 137, OOMKilled."},
		"the container exited before the load":                  {intent: -time.Second, how: func(s *steps.Scope) { ended(s, -5*time.Second) }},
		"the container exits at the end of the window":          {intent: -window, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses = nil }},
		"the container exits just before the end of the window": {intent: time.Second - window, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses = nil }, want: "Container app exited 59s after an attach."},
		"the container was never attached to":                   {none: true, how: func(s *steps.Scope) { s.Pod.Status.ContainerStatuses = nil }},
		"the JVM is adopted":                                    {intent: -time.Second, how: func(s *steps.Scope) { s.Status().Processes[0].Adopted = true; s.Pod.Status.ContainerStatuses = nil }},
		"a tool beside the application exits":                   {intent: -4 * time.Second, how: beside("app", "containerd://1")},
		"the primary process exits beside another":              {intent: -4 * time.Second, how: func(s *steps.Scope) { beside("app", "containerd://1")(s); s.Status().Processes[0].Primary = true }, want: "Java process 8 in container app exited 4s after an attach."},
		"the process exits beside its launcher": {intent: -4 * time.Second, how: func(s *steps.Scope) {
			beside("app", "containerd://1")(s)
			s.Status().Processes[1].Excluded = true
		}, want: "Java process 8 in container app exited 4s after an attach."},
		"the process exits beside one in another container":    {intent: -4 * time.Second, how: beside("worker", "containerd://9"), want: "Java process 8 in container app exited 4s after an attach."},
		"the process exits beside one of an earlier container": {intent: -4 * time.Second, how: beside("app", "containerd://0"), want: "Java process 8 in container app exited 4s after an attach."},
		"the tool exits together with its container":           {intent: -4 * time.Second, how: func(s *steps.Scope) { beside("app", "containerd://1")(s); s.Pod.Status.ContainerStatuses = nil }, want: "Container app exited 4s after an attach."},
		"the process exits in a running container":             {intent: -4 * time.Second, how: func(s *steps.Scope) { s.Status().Processes[0].PID = 8 }, want: "Java process 8 in container app exited 4s after an attach."},
	}
	for name, tc := range cases {
		s := aScope()
		s.Status().Revision, s.Attachment.Spec.Revision = "old", revision // granted, and not yet applied to the pod
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: window}
		if !tc.none {
			s.Status().Processes[0].Intent = &v1alpha1.LoadIntent{Time: metav1.NewTime(start.Add(tc.intent))}
		}
		tc.how(s)
		gone := func(p *v1alpha1.JavaProcess) bool { return !steps.Runs(s.Pod, p) || p.PID == 8 }
		got := ""
		if r := restartOf(s, s.Status(), gone); r != nil {
			if got = r.Message; r.Revision != "old" || r.Container != "app" {
				t.Errorf("%s: unexpected restart %+v", name, r)
			}
		}
		if got != tc.want {
			t.Errorf("%s: message: got %q, want %q", name, got, tc.want)
		}
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{}
		if r := restartOf(s, s.Status(), gone); r != nil {
			t.Errorf("%s: with a window of 0: got %+v, want none", name, r)
		}
	}
}
