package steps

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// aProven returns a pod with revision whose JVM has served for a time.
func aProven(age time.Duration) *scene {
	s := servingPod()
	s.Exporter.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: time.Minute}
	s.Status().Revision = revision
	s.Status().Processes[0].Intent.Time = metav1.NewTime(start.Add(-age))
	return s
}

// exits replaces the container of a pod by another instance.
func (s *scene) exits() *scene {
	app := &s.Pod.Status.ContainerStatuses[0]
	app.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ContainerID: app.ContainerID, FinishedAt: s.Now}
	app.ContainerID, app.State.Running.StartedAt = "containerd://2", s.Now
	return s
}

// What a process must have served, and for how long, to prove the revision of its pod.
func TestProves(t *testing.T) {
	for name, tc := range map[string]struct {
		age  time.Duration // of the attach
		how  func(*scene)
		want string
	}{
		"it served for ten minutes":           {age: provenAfter, how: func(*scene) {}, want: revision},
		"it served for almost ten minutes":    {age: provenAfter - time.Second, how: func(*scene) {}},
		"it serves an earlier configuration":  {age: time.Hour, how: func(s *scene) { s.Config.SHA256 = "changed" }},
		"it serves an earlier implementation": {age: time.Hour, how: func(s *scene) { s.Status().Processes[0].ImplementationSHA256 = "old" }},
		"the load failed":                     {age: time.Hour, how: func(s *scene) { s.Status().Processes[0].Port, s.Status().Processes[0].ConfigSHA256 = 0, "" }},
		"the configuration is invalid":        {age: time.Hour, how: func(s *scene) { s.Config.Problem = &Problem{Reason: v1alpha1.ReasonConfigNotYAML} }},
		"it serves the stock exporter":        {age: time.Hour, how: func(s *scene) { s.Status().Processes[0].Adopted = true }},
		"the revision is halted":              {age: time.Hour, how: func(s *scene) { s.Granted = false }, want: revision},
		"it exits within a longer window":     {age: provenAfter, how: func(s *scene) { s.Exporter.Spec.Rollout.RestartWindow.Duration = 30 * time.Minute }},
		"it exits after a longer window":      {age: 30 * time.Minute, how: func(s *scene) { s.Exporter.Spec.Rollout.RestartWindow.Duration = 30 * time.Minute }, want: revision},
		"the revision before has its files":   {age: time.Hour, how: func(s *scene) { s.Status().Revision = "old" }},
		"it serves at the port of before":     {age: time.Hour, how: func(s *scene) { s.Exporter.Spec.Port = 9999 }},
		"a later instance has exited since": {age: time.Hour, how: func(s *scene) {
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ContainerID = "containerd://1b"
		}},
	} {
		s := aProven(tc.age).exits()
		tc.how(s)
		s.Begun = s.Status().DeepCopy()
		s.decide(t, Regress)
		if got := s.Status().Containers[0].ProvenRevision; got != tc.want {
			t.Errorf("%s: got proven revision %q, want %q", name, got, tc.want)
		}
	}
}

// A pod keeps a revision that it serves or has proven, and not one that it was only granted.
func TestKeeps(t *testing.T) {
	forgotten := func(s *scene) { s.Status().Processes = nil }
	proven := func(s *scene) { s.Status().Containers[0].ProvenRevision = revision }
	for name, tc := range map[string]struct {
		how  []func(*scene)
		want bool
	}{
		"it serves the revision":          {want: true},
		"it serves another configuration": {how: []func(*scene){func(s *scene) { s.Status().Processes[0].ConfigSHA256 = "old" }}},
		"the load failed":                 {how: []func(*scene){func(s *scene) { s.Status().Processes[0].Port = 0 }}},
		"its JVM is gone":                 {how: []func(*scene){forgotten}},
		"its JVM is gone, and proved it":  {how: []func(*scene){forgotten, proven}, want: true},
		"its JVM exited soon after an attach again": {how: []func(*scene){forgotten, proven, func(s *scene) {
			s.Status().Restart = &v1alpha1.Restart{Container: "app", Revision: revision, Count: 1}
		}}},
	} {
		s := servingPod()
		for _, how := range tc.how {
			how(s)
		}
		if got := Keeps(s.Status(), revision, s.Inputs, s.Artifacts); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

// A proof that this reconcile has found counts at once, also while the rollout is halted.
func TestProvenWhileHalted(t *testing.T) {
	s := aProven(time.Hour)
	s.ProvenOnly = true
	s.exits()
	s.Begun = s.Status().DeepCopy()
	if s.granted() {
		t.Error("the revision is granted before it is proven")
	}
	s.decide(t, Regress)
	if !s.granted() || !s.grantedTo("app") || s.grantedTo("other") {
		t.Errorf("granted: got %t, to container app %t, to another %t; want true, true, false", s.granted(), s.grantedTo("app"), s.grantedTo("other"))
	}
}

// A revision that is halted while its files are staged is not proven by the configuration
// that the process serves instead.
func TestHaltedIsNotProven(t *testing.T) {
	s := aProven(time.Hour)
	s.Granted, s.ProvenOnly = false, true
	s.Config.SHA256 = "halted"
	if outcome := (Load{}).Announce(context.Background(), s.jvm()); outcome != nil {
		t.Fatalf("unexpected outcome: %+v", outcome)
	}
	s.exits()
	if s.proves(&s.Status().Processes[0]) {
		t.Error("the halted revision is proven")
	}
}

// A proof does not hold after an exit soon after an attach, and the exit counts less.
func TestRefuted(t *testing.T) {
	status := &v1alpha1.JmxAttachmentStatus{Containers: []v1alpha1.InspectedContainer{{Name: "app", ProvenRevision: revision}, {Name: "other", ProvenRevision: revision}}}
	if !Proven(status, "app", revision) || Refuted(status) || Proven(status, "app", "old") || Proven(status, "app", "") {
		t.Error("unexpected proof before the exit")
	}
	status.Restart = &v1alpha1.Restart{Container: "app", Revision: revision, Count: 1}
	if Proven(status, "app", revision) || !Refuted(status) || !Proven(status, "other", revision) || !Proven(status, "", revision) {
		t.Error("unexpected proof after the exit")
	}
	if status.Restart.Count = 2; Refuted(status) {
		t.Error("the second exit counts less")
	}
	s := aPod()
	s.Status().Containers, s.Status().Restart = status.Containers, status.Restart
	if err := (NoteRestart{&v1alpha1.Restart{Container: "other", Revision: revision, Count: 3}}).Apply(s.Situation); err != nil {
		t.Fatal(err)
	}
	if Proven(s.Status(), "app", revision) || Proven(s.Status(), "other", revision) {
		t.Error("a proof holds again after the exit of another container")
	}
}

// A container that restarted is attached to at once if it has proven the revision, and
// otherwise when it has run for ten minutes.
func TestRestarted(t *testing.T) {
	for name, tc := range map[string]struct {
		age    time.Duration
		proven string
		how    func(*scene)
		want   time.Duration
	}{
		"the container restarted":                                 {age: time.Minute, want: 9 * time.Minute},
		"the container restarted ten minutes ago":                 {age: provenAfter},
		"the container restarted, and has proven it":              {age: time.Minute, proven: revision},
		"the container restarted, and has proven another":         {age: time.Minute, proven: "old", want: 9 * time.Minute},
		"the node's clock is a little ahead":                      {age: -time.Second, want: provenAfter},
		"the node's clock is far ahead":                           {age: -time.Hour},
		"the node was restarted":                                  {age: time.Minute, how: func(s *scene) { s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "Unknown" }, want: 9 * time.Minute},
		"the container never exited":                              {age: time.Minute, how: func(s *scene) { s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = nil }},
		"the window is 0":                                         {age: time.Minute, how: func(s *scene) { s.Exporter.Spec.Rollout.RestartWindow = nil }},
		"another exit soon after an attach":                       {age: time.Minute, proven: revision, how: func(s *scene) { s.Status().Restart = &v1alpha1.Restart{Revision: revision, Container: "app", Count: 1} }, want: 9 * time.Minute},
		"another exit soon after an attach, in another container": {age: time.Minute, proven: revision, how: func(s *scene) { s.Status().Restart = &v1alpha1.Restart{Revision: revision, Container: "b", Count: 1} }},
	} {
		s := aProven(0).exits()
		app := &s.Pod.Status.ContainerStatuses[0]
		app.State.Running.StartedAt, s.Status().Containers[0].ProvenRevision = metav1.NewTime(start.Add(-tc.age)), tc.proven
		if tc.how != nil {
			tc.how(s)
		}
		var got time.Duration
		if outcome := s.restarted("app", app.ContainerID); outcome != nil {
			got = outcome.RetryAfter
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// A container that has proven the revision need not be ready to get it back.
func TestNotReadyIsProven(t *testing.T) {
	s := aProven(0).exits()
	s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.StartedAt = metav1.NewTime(start.Add(-time.Hour))
	if outcome := s.unstable("app", "containerd://2"); outcome == nil || outcome.Reason != v1alpha1.ReasonContainerNotReady {
		t.Errorf("unproven: got %+v", outcome)
	}
	s.Status().Containers[0].ProvenRevision = revision
	if outcome := s.unstable("app", "containerd://2"); outcome != nil {
		t.Errorf("proven: got %+v, want nothing", outcome)
	}
}

// An exit soon after an attach is forgotten when the container has served for ten minutes.
func TestRecovers(t *testing.T) {
	for name, tc := range map[string]struct {
		age    time.Duration
		how    func(*scene)
		keeps  bool
		waited time.Duration
	}{
		"it serves for ten minutes":          {age: provenAfter},
		"the window is longer":               {age: provenAfter, keeps: true, waited: 20 * time.Minute, how: func(s *scene) { s.Exporter.Spec.Rollout.RestartWindow.Duration = 30 * time.Minute }},
		"it serves for nine minutes":         {age: 9 * time.Minute, keeps: true, waited: time.Minute},
		"it does not serve":                  {age: time.Hour, keeps: true, how: func(s *scene) { s.Status().Processes[0].Port = 0 }},
		"another container serves":           {age: time.Hour, keeps: true, how: func(s *scene) { s.Status().Restart.Container = "other" }},
		"the exit was with another revision": {age: time.Second, how: func(s *scene) { s.Status().Restart.Revision = "old" }},
	} {
		s := aProven(tc.age)
		s.Status().Restart = &v1alpha1.Restart{Revision: revision, Container: "app", Count: 1, Time: new(metav1.NewTime(start.Add(-time.Hour)))}
		if tc.how != nil {
			tc.how(s)
		}
		s.Begun = s.Status().DeepCopy()
		var waited time.Duration
		for _, m := range s.decide(t, Regress) {
			if w, ok := m.(Wait); ok {
				waited = w.After
			}
		}
		if keeps := s.Status().Restart != nil; keeps != tc.keeps || waited != tc.waited {
			t.Errorf("%s: exit kept: %t, next reconcile after %s; want %t, %s", name, keeps, waited, tc.keeps, tc.waited)
		}
	}
}

// How long a container waits after its exit soon after an attach, whatever the clocks say.
func TestRecovering(t *testing.T) {
	for name, tc := range map[string]struct {
		exit    *metav1.Time
		started time.Duration
		proven  bool
		window  time.Duration
		want    time.Duration
	}{
		"it has just exited":                   {exit: new(metav1.NewTime(start)), want: provenAfter, window: time.Minute},
		"it runs for a minute":                 {exit: new(metav1.NewTime(start.Add(-time.Hour))), started: -time.Minute, want: 9 * time.Minute, window: time.Minute},
		"the node's clock is an hour ahead":    {exit: new(metav1.NewTime(start.Add(-4 * time.Minute))), started: time.Hour, want: 6 * time.Minute, window: time.Minute},
		"an earlier release does not say when": {window: time.Minute},
		"the window is 0":                      {exit: new(metav1.NewTime(start))},
	} {
		s := aProven(0)
		s.Exporter.Spec.Rollout.RestartWindow.Duration = tc.window
		s.Status().Restart = &v1alpha1.Restart{Revision: revision, Container: "app", Count: 1, Time: tc.exit}
		s.Pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(start.Add(tc.started))
		var got time.Duration
		if outcome := s.recovering("app"); outcome != nil {
			got = outcome.RetryAfter
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

// decide applies the moves of a decision to the record, and returns all of them.
func (s *scene) decide(t *testing.T, decision Decision) []Move {
	t.Helper()
	moves, err := decision(s.Situation)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range moves {
		if change, ok := m.(Change); ok {
			if err := change.Apply(s.Situation); err != nil {
				t.Fatal(err)
			}
		}
	}
	return moves
}
