package steps

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
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
	// resizable gives the container memory whose resize restarts it.
	resizable := func(s *scene) {
		s.Pod.Spec.Containers = []corev1.Container{{Name: "app", ResizePolicy: []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}}}
		s.Pod.Status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}}
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
		"the pod exceeds its own limit of storage": {intent: -3 * time.Second, how: func(s *scene) {
			s.Pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: `Container app exceeded its local ephemeral storage limit "10Mi". `}
		}, want: `Container app exited 3s after an attach or a change: Evicted, Container app exceeded its local ephemeral storage limit "10Mi".`},
		"the node lacks memory": {intent: -3 * time.Second, how: func(s *scene) {
			s.Pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: memory. "}
		}, want: "Container app exited 3s after an attach or a change: Evicted, The node was low on resource: memory."},
		"the node shuts down": {intent: -3 * time.Second, how: func(s *scene) {
			s.Pod.Status.Phase, s.Pod.Status.Reason, s.Pod.Status.ContainerStatuses = corev1.PodFailed, "Terminated", nil
		}},
		"the scheduler preempts the pod": {intent: -3 * time.Second, how: func(s *scene) {
			s.Pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
			s.Pod.Status.ContainerStatuses = nil
		}},
		"the node was restarted": {intent: -3 * time.Second, how: func(s *scene) {
			ended(s, -time.Second)
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "Unknown"
		}},
		"the container was resized": {intent: -3 * time.Second, how: func(s *scene) {
			resizable(s)
			s.Status().Processes[0].Intent.ResourcesSHA256 = "of 1Gi"
			ended(s, -time.Second)
		}},
		"a later instance has exited since": {intent: -time.Hour, how: func(s *scene) {
			ended(s, -time.Hour+90*time.Second)
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ContainerID = "containerd://1b"
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.StartedAt = metav1.NewTime(start.Add(10*time.Second - time.Hour))
		}, want: "Container app exited 10s after an attach or a change."},
		"the container could be resized, and was not": {intent: -3 * time.Second, how: func(s *scene) {
			resizable(s)
			s.Status().Processes[0].Intent.ResourcesSHA256 = pod.RestartingResources(s.Pod, "app")
			ended(s, -time.Second)
		}, want: "Container app exited 2s after an attach or a change: exit code 137, OOMKilled."},
		"the container of its own policy completed": {intent: -time.Hour, how: func(s *scene) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			s.Pod.Spec.Containers = []corev1.Container{{Name: "app", RestartPolicy: new(corev1.ContainerRestartPolicyOnFailure)}}
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}},
		"the node's clock is ahead":                            {intent: -3 * time.Second, how: func(s *scene) { ended(s, 2*time.Minute) }, want: "Container app exited 3s after an attach or a change: exit code 137, OOMKilled."},
		"nothing exited":                                       {intent: -time.Second, how: func(*scene) {}},
		"the container was replaced":                           {intent: -3 * time.Second, how: func(s *scene) { s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2" }, want: "Container app exited 3s after an attach or a change."},
		"the container was replaced, and its exit is reported": {intent: -time.Hour, how: func(s *scene) { ended(s, -time.Hour+2*time.Second) }, want: "Container app exited 2s after an attach or a change: exit code 137, OOMKilled."},
		"the container completed": {intent: -time.Hour, how: func(s *scene) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}},
		"the container completed, and restarted": {intent: -time.Hour, how: func(s *scene) {
			ended(s, -time.Hour+2*time.Second)
			s.Pod.Spec.RestartPolicy = corev1.RestartPolicyAlways
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = 0
		}, want: "Container app exited 2s after an attach or a change: exit code 0, OOMKilled."},
		"the container waits":                                   {intent: -3 * time.Second, how: func(s *scene) { s.Pod.Status.ContainerStatuses[0].State = corev1.ContainerState{} }, want: "Container app exited 3s after an attach or a change."},
		"the node's clock is behind":                            {intent: -time.Second, how: func(s *scene) { s.Status().Processes[0].Port = 9400; ended(s, -5*time.Second) }, want: "Container app exited 0s after an attach or a change: exit code 137, OOMKilled."},
		"the container exited before the load":                  {intent: -time.Second, how: func(s *scene) { ended(s, -5*time.Second) }},
		"the container exits at the end of the window":          {intent: -window, how: func(s *scene) { s.Pod.Status.ContainerStatuses = nil }},
		"the container exits just before the end of the window": {intent: time.Second - window, how: func(s *scene) { s.Pod.Status.ContainerStatuses = nil }, want: "Container app exited 59s after an attach or a change."},
		"the container was never attached to":                   {none: true, how: func(s *scene) { s.Pod.Status.ContainerStatuses = nil }},
		"the JVM is adopted":                                    {intent: -time.Second, how: func(s *scene) { s.Status().Processes[0].Adopted = true; s.Pod.Status.ContainerStatuses = nil }},
		"a tool beside the application exits":                   {intent: -4 * time.Second, how: beside("app", "containerd://1")},
		"the primary process exits beside another":              {intent: -4 * time.Second, how: func(s *scene) { beside("app", "containerd://1")(s); s.Status().Processes[0].Primary = true }, want: "Java process 8 in container app exited 4s after an attach or a change."},
		"the process exits beside its launcher": {intent: -4 * time.Second, how: func(s *scene) {
			beside("app", "containerd://1")(s)
			s.Status().Processes[1].Excluded = true
		}, want: "Java process 8 in container app exited 4s after an attach or a change."},
		"the process exits beside one in another container":    {intent: -4 * time.Second, how: beside("worker", "containerd://9"), want: "Java process 8 in container app exited 4s after an attach or a change."},
		"the process exits beside one of an earlier container": {intent: -4 * time.Second, how: beside("app", "containerd://0"), want: "Java process 8 in container app exited 4s after an attach or a change."},
		"the tool exits together with its container":           {intent: -4 * time.Second, how: func(s *scene) { beside("app", "containerd://1")(s); s.Pod.Status.ContainerStatuses = nil }, want: "Container app exited 4s after an attach or a change."},
		"the process exits in a running container":             {intent: -4 * time.Second, how: func(s *scene) { s.Status().Processes[0].PID = 8 }, want: "Java process 8 in container app exited 4s after an attach or a change."},
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
		app.State.Running.StartedAt, app.Ready = metav1.NewTime(began), true
		app.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			StartedAt: metav1.NewTime(began.Add(-time.Hour)), FinishedAt: metav1.NewTime(began.Add(tc.before - time.Hour)),
		}
		if tc.how != nil {
			tc.how(s, app)
		}
		var got time.Duration
		if outcome := s.unstable(s.Status().Processes[0].Container, s.Status().Processes[0].ContainerID); outcome != nil {
			got = outcome.RetryAfter
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// A container that is not ready is attached to when it is older than the window.
func TestNotReady(t *testing.T) {
	const window = time.Minute
	for name, tc := range map[string]struct {
		age     time.Duration
		ready   bool
		exited  bool
		window  time.Duration
		want    time.Duration
		because string
	}{
		"the container is ready":                    {age: time.Second, ready: true, window: window},
		"the container has just started":            {age: time.Second, window: window, want: 59 * time.Second, because: v1alpha1.ReasonContainerNotReady},
		"the container is as old as the window":     {age: window, window: window},
		"the container was ready before":            {age: time.Hour, window: window},
		"the node's clock is ahead":                 {age: -time.Second, window: window, want: window, because: v1alpha1.ReasonContainerNotReady},
		"the node's clock is far ahead":             {age: -time.Hour, window: window},
		"the container has restarted":               {age: time.Second, exited: true, window: window, want: 79 * time.Second, because: v1alpha1.ReasonContainerRestarting},
		"the container has just started, no window": {age: time.Second},
	} {
		s := aPod()
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: tc.window}
		app, began := &s.Pod.Status.ContainerStatuses[0], start.Add(-tc.age)
		app.State.Running.StartedAt, app.Ready = metav1.NewTime(began), tc.ready
		if tc.exited {
			app.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(began.Add(-20 * time.Second)), FinishedAt: metav1.NewTime(began)}
		}
		var got statemachine.Outcome
		if outcome := s.unstable("app", app.ContainerID); outcome != nil {
			got = *outcome
		}
		if got.Reason != tc.because || got.RetryAfter != tc.want {
			t.Errorf("%s: got %s for %q, want %s for %q", name, got.RetryAfter, got.Reason, tc.want, tc.because)
		}
	}
}

// How often an exit counts.
func TestRestartCounts(t *testing.T) {
	exited := func(before *v1alpha1.Restart) *v1alpha1.Restart {
		s := aPod()
		s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: time.Minute}
		s.Status().Revision, s.Status().Restart = revision, before
		s.Status().Processes[0].Intent = &v1alpha1.LoadIntent{Time: metav1.NewTime(start.Add(-time.Second))}
		s.Pod.Status.ContainerStatuses[0].ContainerID = "containerd://2"
		s.Begun = s.Status()
		return s.restartOf(s.Exporter, func(p *v1alpha1.JavaProcess) bool { return !record.Runs(s.Pod, p) })
	}
	first := exited(nil)
	if first == nil || first.Count != 1 || first.Process == "" || !first.Time.Time.Equal(start) {
		t.Fatalf("first exit: got %+v", first)
	}
	earlier := first.DeepCopy()
	earlier.Time = new(metav1.NewTime(start.Add(-time.Minute)))
	if again := exited(earlier); again.Count != 1 || !again.Time.Equal(earlier.Time) {
		t.Errorf("the same exit, seen again: got %+v", again)
	}
	other := first.DeepCopy()
	other.Process = "another"
	if second := exited(other); second.Count != 2 {
		t.Errorf("second exit: got %+v", second)
	}
	other.Revision = "old"
	if second := exited(other); second.Count != 1 {
		t.Errorf("second exit, with another revision: got %+v", second)
	}
}
