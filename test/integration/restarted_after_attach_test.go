package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// A container ends soon after an attach: that stops everything, and the container
// is left alone; later, it is attached to again at once and without a turn.
func TestRestart(t *testing.T) {
	cases := map[string]struct {
		after  time.Duration // the attach
		window time.Duration // none if 0
		ended  time.Duration // the kubelet says so long after the attach, if not 0
		how    func(*fleet)  // it is replaced, if otherwise
		halts  bool
		says   string
	}{
		"at once":                      {window: time.Minute, after: 3 * time.Second, halts: true, says: "Container app exited 3s after an attach."},
		"within the window":            {window: time.Minute, after: 50 * time.Second, halts: true, says: "exited 50s after"},
		"after it":                     {window: time.Minute, after: 2 * time.Minute},
		"seen late, but it ended soon": {window: time.Minute, after: time.Hour, ended: 7 * time.Second, halts: true, says: "exited 7s after an attach: exit code 137, OOMKilled"},
		"seen late, and ended late":    {window: time.Minute, after: time.Hour, ended: 5 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
				r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
				r.Canary.Count, r.Canary.MinReadySeconds = new(int32(1)), new(int32(3600*24))
				r.RestartWindow = &metav1.Duration{Duration: tc.window}
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
				f.expect("it restarted", isAnnotated, isPending)
				if f.jvm(f.pods[0]).loads != 1 {
					t.Errorf("it is attached to %d times", f.jvm(f.pods[0]).loads)
				}
				if get(t, f.exporter); f.exporter.Status.Halt != nil {
					t.Errorf("halt is %+v", f.exporter.Status.Halt)
				}
				return
			}
			f.expect("it restarted", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted")
			f.expectSums("it restarted", "1/0/2, Ready False RestartedAfterAttach, Stalled True RestartedAfterAttach")
			if !strings.Contains(f.exporter.Status.Halt.Message, tc.says) {
				t.Errorf("halt says %q", f.exporter.Status.Halt.Message)
			}
			if got := f.endpoints(f.exporter); got != "" {
				t.Errorf("published is %q", got)
			}
			f.restart(f.pods[0]) // and again
			f.later(time.Hour)
			f.expect("it restarts again", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted")
			if f.jvm(f.pods[0]).loads > 0 {
				t.Error("it was attached to again")
			}
			change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
				e.Annotations = map[string]string{v1alpha1.AnnotationResume: "I have looked"}
			})
			f.expect("a person says so", isAnnotated, isPending)
		})
	}
}

// A JVM that was replaced while its container ran on, long ago, did not end of the
// change that finds it gone.
func TestGoneBeforeTheChange(t *testing.T) {
	s, o := annotated(t)
	s.container(s.pod).jvms = []*jvm{aJVM(javaStartTime + 1)}
	s.configure(changed)
	o.outlast()
	s.isAnnotated("9400")
	get(t, s.exporter)
	if s.exporter.Status.Halt != nil {
		t.Errorf("halt is %+v", s.exporter.Status.Halt)
	}
}

// The JVM ends after the load, before its endpoint has answered, while its
// container runs on: it is found anew, and left alone if that was soon.
func TestGoneBeforeItAnswers(t *testing.T) {
	for name, after := range map[string]time.Duration{"soon": 10 * time.Second, "late": 2 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{cluster: newCluster(t)}
			o := s.operate()
			s.pod = s.run(aPod("app-0"))
			s.containers.probe = fault(v1alpha1.ReasonEndpointNotServing)
			s.exporter = s.export("exporter")
			o.settle()
			if got := phaseOf(s.attachment(s.pod)); got != "Loaded EndpointNotServing" {
				t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, "Loaded EndpointNotServing")
			}
			s.later(after)
			another := aJVM(javaStartTime + 1)
			s.container(s.pod).jvms = []*jvm{another}
			if _, err := o.round(); err != nil {
				t.Fatal(err)
			}
			if got := s.attachment(s.pod); phaseOf(got) != "Discovered Replaced" || len(got.Status.Processes) > 0 {
				t.Errorf("it is %s: %+v", phaseOf(got), got.Status.Processes)
			}
			s.containers.mend()
			o.outlast()
			if name == "late" {
				s.isAnnotated("9400")
				return
			}
			if got := phaseOf(s.attachment(s.pod)); got != "JavaFound RestartedAfterAttach" || another.loads > 0 {
				t.Errorf("it is %s, and was loaded into %d times", got, another.loads)
			}
			if get(t, s.exporter); s.exporter.Status.Halt == nil || !strings.HasPrefix(s.exporter.Status.Halt.Message, "Pod app-0: Java process 7 in container app exited 1") {
				t.Errorf("halt is %+v", s.exporter.Status.Halt)
			}
		})
	}
}

// A pod that is not restarted fails as a whole: within the window that halts the
// rollout, and then its record goes; after it, the record just goes.
func TestPodFails(t *testing.T) {
	cases := map[string]struct {
		after time.Duration
		phase corev1.PodPhase
		// before it fails, and how.
		before, how func(*fleet)
		halts       bool
	}{
		"soon":                              {after: 7 * time.Second, phase: corev1.PodFailed, halts: true},
		"late":                              {after: 5 * time.Minute, phase: corev1.PodFailed},
		"while the configuration is broken": {after: 7 * time.Second, phase: corev1.PodFailed, halts: true, before: func(f *fleet) { f.configure("rules: {") }},
		"it succeeds":                       {after: 7 * time.Second, phase: corev1.PodSucceeded},
		"it has left the exporter":          {after: 7 * time.Second, phase: corev1.PodFailed, how: func(f *fleet) { change(f.t, f.pods[0], func(pod *corev1.Pod) { delete(pod.Labels, "app") }) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
				r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
				r.Canary.Count, r.Canary.MinReadySeconds = new(int32(1)), new(int32(3600))
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
			f.configure(rules) // it is mended, where it was broken
			f.o.settle()
			if a := f.attachment(pod); a != nil {
				t.Errorf("its record is left: %+v", a.Status)
			}
			get(t, f.exporter)
			halt, other := f.exporter.Status.Halt, phaseOf(f.attachment(f.pods[1]))
			if !tc.halts {
				if halt != nil || other != isAnnotated {
					t.Errorf("the other pod is %s; halt is %+v", other, halt)
				}
				return
			}
			if halt == nil || halt.Reason != v1alpha1.ReasonRestartedAfterAttach || other != "JavaFound RolloutHalted" ||
				!strings.HasPrefix(halt.Message, "Pod app-0: Container app exited 7s after an attach: exit code 134, Error.") {
				t.Errorf("the other pod is %s; halt is %+v", other, halt)
			}
			if j := f.jvm(pod); j.unloads > 0 || f.endpoints(f.exporter) != "" {
				t.Errorf("published is %q; the agent was stopped %d times", f.endpoints(f.exporter), j.unloads)
			}
		})
	}
}

// A Java tool that runs for a moment beside the application halts nothing when it
// is done, and is not missed.
func TestToolBesideTheApplication(t *testing.T) {
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
	s.containers.health = errors.Join(steps.ErrUnreachable, errors.New("connection refused"))
	s.container(s.pod).jvms = s.container(s.pod).jvms[:1]
	o.outlastFor(5)
	if get(t, s.exporter); s.exporter.Status.Halt != nil {
		t.Errorf("it halts: %+v", s.exporter.Status.Halt)
	}
	s.isAnnotated("9400")
	if j := s.jvm(s.pod); len(j.asked) != 1 || j.unloads > 0 {
		t.Error("the application was touched")
	}
}
