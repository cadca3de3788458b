package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
)

// A container that exits soon after an attach halts the rollout where the first exit does,
// and is skipped; one that exits later is attached to again at once and without a slot.
func TestRestart(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		after  time.Duration // time since the attach
		window time.Duration // restartWindow; none if 0
		ended  time.Duration // time between the attach and the reported exit, if not 0
		how    func(*fleet)  // replaces the container, if not by a restart
		halts  bool
		says   string
	}{
		"the container exits at once":             {window: time.Minute, after: 3 * time.Second, halts: true, says: "Container app exited 3s after an attach or a change."},
		"the container exits within the window":   {window: time.Minute, after: 50 * time.Second, halts: true, says: "exited 50s after"},
		"the container exits after the window":    {window: time.Minute, after: 2 * time.Minute},
		"the exit within the window is seen late": {window: time.Minute, after: time.Hour, ended: 7 * time.Second, halts: true, says: "exited 7s after an attach or a change: exit code 137, OOMKilled"},
		"the exit after the window is seen late":  {window: time.Minute, after: time.Hour, ended: 5 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
				r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
				r.Canary.Count, r.Canary.MinReadySeconds = new(int32(1)), new(int32(3600*24))
				r.RestartWindow, r.HaltThreshold = &metav1.Duration{Duration: tc.window}, new(intstr.FromInt32(1))
			})
			f.expect("at first", isAnnotated, isPending)
			began := f.attachment(f.pods[0]).Status.Processes[0].Intent.Time
			f.later(tc.after - f.clock.Now().Sub(began.Time) - time.Second) // settle takes a second
			f.restart(f.pods[0])
			if tc.ended != 0 {
				f.changeStatus(f.pods[0], func(status *corev1.PodStatus) {
					status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
						ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.NewTime(began.Add(tc.ended)),
					}
				})
			}
			if !tc.halts {
				f.expect("the container restarted", isAnnotated, isPending)
				if f.jvm(f.pods[0]).Loads != 1 {
					t.Errorf("loads after the restart: got %d, want 1", f.jvm(f.pods[0]).Loads)
				}
				if get(t, f.exporter); f.exporter.Status.Halt != nil {
					t.Errorf("got halt %+v, want none", f.exporter.Status.Halt)
				}
				return
			}
			f.expect("the container restarted", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted")
			f.expectSums("the container restarted", "1/0/2, Ready False RestartedAfterAttach, Stalled True RestartedAfterAttach")
			if !strings.Contains(f.exporter.Status.Halt.Message, tc.says) {
				t.Errorf("message of the halt: got %q, want it to contain %q", f.exporter.Status.Halt.Message, tc.says)
			}
			if got := f.endpoints(f.exporter); got != "" {
				t.Errorf("endpoints of the exporter: got %q, want none", got)
			}
			f.restart(f.pods[0]) // a second time
			f.later(time.Hour)
			f.expect("the container restarts again", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted")
			if f.jvm(f.pods[0]).Loads > 0 {
				t.Error("the agent was loaded again during the halt")
			}
			change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Annotations = map[string]string{v1alpha1.AnnotationResume: "I have looked"}
			})
			f.expect("the rollout is resumed", isAnnotated, isPending)
		})
	}
}

// A JVM that was replaced in its running container long ago is not blamed on the change
// that detects it.
func TestGoneBeforeTheChange(t *testing.T) {
	t.Parallel()
	s, o := annotated(t)
	s.container(s.pod).JVMs = []*jvm{aJVM(javaStartTime + 1)}
	s.configure(changed)
	o.outlast()
	s.isAnnotated("9400")
	get(t, s.exporter)
	if s.exporter.Status.Halt != nil {
		t.Errorf("got halt %+v, want none", s.exporter.Status.Halt)
	}
}

// The JVM exits after the load, before its endpoint has answered, while its container runs
// on: the new JVM is discovered, and skipped if the exit was soon after the load.
func TestGoneBeforeItAnswers(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"the JVM exits soon": 10 * time.Second, "the JVM exits late": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(aPod("app-0"))
			s.containers.ProbeFault = fault(v1alpha1.ReasonEndpointNotServing)
			s.exporter = s.export("exporter")
			change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Rollout.HaltThreshold = new(intstr.FromInt32(1)) })
			o.settle()
			if got := phaseOf(s.attachment(s.pod)); got != "Loaded EndpointNotServing" {
				t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, "Loaded EndpointNotServing")
			}
			s.later(after)
			another := aJVM(javaStartTime + 1)
			s.container(s.pod).JVMs = []*jvm{another}
			if _, err := o.round(); err != nil {
				t.Fatal(err)
			}
			if got := s.attachment(s.pod); phaseOf(got) != "Discovered Replaced" || len(got.Status.Processes) > 0 {
				t.Errorf("got phase %q with processes %+v, want Discovered Replaced with none", phaseOf(got), got.Status.Processes)
			}
			s.containers.Mend()
			o.outlast()
			if name == "the JVM exits late" {
				s.isAnnotated("9400")
				return
			}
			if got := phaseOf(s.attachment(s.pod)); got != "JavaFound RestartedAfterAttach" || another.Loads > 0 {
				t.Errorf("got phase %q with %d loads into the new JVM, want JavaFound RestartedAfterAttach with none", got, another.Loads)
			}
			if get(t, s.exporter); s.exporter.Status.Halt == nil || !strings.HasPrefix(s.exporter.Status.Halt.Message, "Pod app-0: Java process 7 in container app exited 1") {
				t.Errorf("got halt %+v, want one for the exited process", s.exporter.Status.Halt)
			}
		})
	}
}

// A pod that is not restarted fails as a whole: within the window that halts the rollout,
// and then its JmxAttachment is deleted; after the window, it is just deleted.
func TestPodFails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		after time.Duration
		phase corev1.PodPhase
		// before it fails, and how.
		before, how func(*fleet)
		halts       bool
	}{
		"the pod fails soon": {after: 7 * time.Second, phase: corev1.PodFailed, halts: true},
		"the pod fails late": {after: 5 * time.Minute, phase: corev1.PodFailed},
		"the pod fails soon while the configuration is invalid": {after: 7 * time.Second, phase: corev1.PodFailed, halts: true, before: func(f *fleet) { f.configure("rules: {") }},
		"the pod succeeds": {after: 7 * time.Second, phase: corev1.PodSucceeded},
		"the pod fails soon after its label is removed": {after: 7 * time.Second, phase: corev1.PodFailed, how: func(f *fleet) { change(f.t, f.pods[0], func(pod *corev1.Pod) { delete(pod.Labels, "app") }) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
				r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
				r.Canary.Count, r.Canary.MinReadySeconds = new(int32(1)), new(int32(3600))
				r.HaltThreshold = new(intstr.FromInt32(1))
			})
			f.expect("at first", isAnnotated, isPending)
			pod := f.pods[0]
			ended := f.attachment(pod).Status.Processes[0].Intent.Time.Add(tc.after)
			if tc.before != nil {
				tc.before(f)
				f.o.settle()
			}
			f.later(10 * time.Minute)
			f.changeStatus(pod, func(status *corev1.PodStatus) {
				status.Phase = tc.phase
				status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 134, Reason: "Error", FinishedAt: metav1.NewTime(ended),
				}}
			})
			if tc.how != nil {
				tc.how(f)
			}
			f.o.settle()
			f.configure(rules) // corrected, where it was invalid
			f.o.settle()
			if a := f.attachment(pod); a != nil {
				t.Errorf("JmxAttachment still exists: %+v", a.Status)
			}
			get(t, f.exporter)
			halt, other := f.exporter.Status.Halt, phaseOf(f.attachment(f.pods[1]))
			if !tc.halts {
				if halt != nil || other != isAnnotated {
					t.Errorf("other pod: got phase %q; got halt %+v, want none", other, halt)
				}
				return
			}
			if halt == nil || halt.Reason != v1alpha1.ReasonRestartedAfterAttach || other != "JavaFound RolloutHalted" ||
				!strings.HasPrefix(halt.Message, "Pod app-0: Container app exited 7s after an attach or a change: exit code 134, Error.") {
				t.Errorf("other pod: got phase %q; got halt %+v, want one for app-0", other, halt)
			}
			if j := f.jvm(pod); j.Unloads > 0 || f.endpoints(f.exporter) != "" {
				t.Errorf("endpoints of the exporter: got %q, want none; the agent was stopped %d times, want none", f.endpoints(f.exporter), j.Unloads)
			}
		})
	}
}

// A Java tool that runs briefly beside the application does not halt the rollout when it
// exits, and is not reported as missing.
func TestToolBesideTheApplication(t *testing.T) {
	t.Parallel()
	pod := aPod("app-0")
	tool := aJVM(javaStartTime + 1)
	tool.PID++
	pod.jvms["app"] = append(pod.jvms["app"], tool)
	s := &story{cluster: newCluster(t)}
	s.listenEvery = time.Second
	o := s.operate()
	s.pod = s.run(pod)
	s.exporter = s.export("exporter")
	o.settle()
	s.areAnnotated("9400", "9404")
	s.later(5 * time.Second)
	s.containers.HealthFault = errors.Join(probe.ErrUnreachable, errors.New("connection refused"))
	s.container(s.pod).JVMs = s.container(s.pod).JVMs[:1]
	o.outlastFor(5)
	if get(t, s.exporter); s.exporter.Status.Halt != nil {
		t.Errorf("got halt %+v, want none", s.exporter.Status.Halt)
	}
	s.isAnnotated("9400")
	if j := s.jvm(s.pod); len(j.Asked) != 1 || j.Unloads > 0 {
		t.Error("the application's agent was changed")
	}
}
