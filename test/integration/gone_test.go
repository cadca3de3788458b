package integration

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// setContainer puts another status in the place of a container's.
func (c *cluster) setContainer(pod *corev1.Pod, status corev1.ContainerStatus) {
	c.t.Helper()
	c.changeStatus(pod, func(all *corev1.PodStatus) {
		for i := range all.ContainerStatuses {
			if all.ContainerStatuses[i].Name == status.Name {
				all.ContainerStatuses[i] = status
			}
		}
	})
}

func crashing(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
}

// kept are the ways in which a pod is kept from what is new: app-1 of a fleet, in
// which app-0 goes first and does not come through.
var kept = map[string]func(*fleet){
	"suspended": func(f *fleet) {
		change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = true })
	},
	"waiting": func(f *fleet) {
		f.jvm(f.pods[0]).fault = fault(v1alpha1.ReasonAttachTimeout)
		f.configure(changed)
	},
}

// aFleetWith is app-0, and app-1 with a second container; both are Annotated, and
// have been for some time.
func aFleetWith(t *testing.T, container string, jvms ...*jvm) (*fleet, *story) {
	t.Helper()
	f := aFleet(t, 1, nil)
	f.pods = append(f.pods, f.run(aPod("app-1").container(container, jvms...)))
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	f.o.settle()
	return f, &story{f.cluster, f.pods[1], f.exporter}
}

// portsOf are the ports of a pod that are published.
func (f *fleet) portsOf(pod *corev1.Pod) string {
	f.t.Helper()
	var ports []string
	for endpoint := range strings.SplitSeq(f.endpoints(f.exporter), ", ") {
		if port, ok := strings.CutPrefix(endpoint, fmt.Sprintf("%s %s:", pod.Name, pod.Status.PodIP)); ok {
			ports = append(ports, port)
		}
	}
	return strings.Join(ports, " ")
}

// A pod with a JVM that serves, and a container that cannot be inspected: when the
// JVM's container ends, its endpoint and the annotations go all the same.
func TestPrunedBesideAFailure(t *testing.T) {
	ways := maps.Clone(kept)
	ways["failing"] = func(*fleet) {}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := aFleetWith(t, "worker", aJVM(javaStartTime+1))
			failing := fault(v1alpha1.ReasonExecFailed)
			f.setContainer(s.pod, running("worker"))
			f.containers.start(s.pod.UID, "worker", aJVM(javaStartTime+2)).fault = failing
			f.container(s.pod).fault = failing
			rounds := func() {
				for range 5 {
					_, _ = f.o.round()
				}
			}
			rounds()
			if got := phaseOf(s.attachment(s.pod)); got != isAnnotated || f.portsOf(s.pod) != "9400" || f.annotations(s.pod)["prometheus.io/port"] != "9400" {
				t.Fatalf("it is %s; published is %q", got, f.portsOf(s.pod))
			}
			way(f)
			rounds()
			if got := s.attachment(s.pod); phaseOf(got) != isAnnotated || f.portsOf(s.pod) != "9400" || f.annotations(s.pod)["prometheus.io/port"] != "9400" {
				t.Fatalf("it is %s; published is %q", phaseOf(got), f.portsOf(s.pod))
			}
			f.setContainer(s.pod, crashing("app"))
			rounds()
			if got := f.portsOf(s.pod); got != "" {
				t.Errorf("published is %q", got)
			}
			if left := f.annotations(s.pod); len(left) > 0 {
				t.Errorf("annotations are left: %v", left)
			}
			if got := s.attachment(s.pod).Status.Processes; len(got) > 0 {
				t.Errorf("on record is %+v", got)
			}
			if get(t, s.exporter); s.exporter.Status.Halt != nil {
				t.Errorf("it halts: %+v", s.exporter.Status.Halt)
			}
		})
	}
}

// A pod that waits for the rollout keeps what serves when another of its containers
// starts: that is inspected, and nothing is loaded until the rollout grants it.
func TestKeptPodStays(t *testing.T) {
	for name, keep := range kept {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := aFleetWith(t, "proxy")
			keep(f)
			f.o.settle()
			s.verbs()
			f.setContainer(s.pod, running("proxy"))
			f.containers.start(s.pod.UID, "proxy", aJVM(javaStartTime+3))
			for range 3 {
				if _, err := f.o.round(); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.attachment(s.pod); got.Status.Phase != v1alpha1.PhaseJavaFound || !meta.IsStatusConditionFalse(got.Status.Conditions, v1alpha1.ConditionReady) {
				t.Errorf("it is %s", phaseOf(got))
			}
			if got := s.verbs(); got != "inspect" || f.portsOf(s.pod) != "9400" || f.annotations(s.pod)["prometheus.io/port"] != "9400" {
				t.Errorf("run was %q; published is %q", got, f.portsOf(s.pod))
			}
			f.jvm(f.pods[0]).fault = nil
			change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Suspend = false })
			f.later(time.Minute)
			f.o.settle()
			f.later(5 * time.Second)
			f.expect("in the end", isAnnotated, isAnnotated)
			if got := f.portsOf(s.pod); got != "9400 9404" {
				t.Errorf("published is %q", got)
			}
		})
	}
}

// A JVM starts late, in a container that was looked into: it is found when the pod
// becomes ready, though not before half a minute has passed; without that nothing
// is executed.
func TestLateJVM(t *testing.T) {
	begin := func(t *testing.T) (*story, *operator, *container) {
		s := &story{cluster: newCluster(t)}
		o := s.operate()
		s.pod = s.run(aPod("app-0").container("late"))
		s.ready(corev1.ConditionFalse)
		s.exporter = s.export("exporter")
		o.settle()
		if got := s.processes(); len(got) != 1 || phaseOf(s.attachment(s.pod)) != isAnnotated {
			t.Fatalf("it is %s: %v", phaseOf(s.attachment(s.pod)), got)
		}
		s.verbs()
		return s, o, s.containers.get(s.pod.UID, "late")
	}
	t.Run("long after", func(t *testing.T) {
		t.Parallel()
		s, o, late := begin(t)
		late.jvms = []*jvm{aJVM(javaStartTime + 1)}
		for range 3 {
			s.later(time.Hour)
			o.settle()
		}
		if got := s.verbs(); got != "" {
			t.Errorf("not ready, run was %q", got)
		}
		s.ready(corev1.ConditionTrue)
		s.later(o.settle())
		o.settle()
		s.areAnnotated("9400", "9404")
		if j := s.jvm(s.pod); j.loads != 1 || len(j.asked) != 1 {
			t.Error("the other JVM was touched")
		}
		s.verbs()
		for range 3 {
			s.later(time.Hour)
			o.settle()
		}
		if got := s.verbs(); got != "" {
			t.Errorf("ready as before, run was %q", got)
		}
	})
	t.Run("right after", func(t *testing.T) {
		t.Parallel()
		s, o, late := begin(t)
		late.jvms = []*jvm{aJVM(javaStartTime + 1)}
		inspected := s.attachment(s.pod).Status.Containers[0].Time
		s.clock.SetTime(inspected.Add(10 * time.Second))
		s.ready(corev1.ConditionTrue)
		_, again := s.check(o)
		if got := s.verbs(); got != "" || again < 20*time.Second || again > 80*time.Second {
			t.Errorf("after 10s run was %q, and it is reconciled again in %s", got, again)
		}
		s.later(again)
		s.check(o)
		if got := s.verbs(); !strings.HasPrefix(got, "inspect inspect ") {
			t.Errorf("after %s run was %q", again, got)
		}
		o.settle()
		s.areAnnotated("9400", "9404")
	})
	t.Run("never", func(t *testing.T) {
		t.Parallel()
		s, o, _ := begin(t)
		s.later(time.Hour)
		s.ready(corev1.ConditionTrue)
		before := s.attachment(s.pod).Status
		s.later(o.settle())
		o.settle()
		if got := s.verbs(); got != "inspect inspect" {
			t.Errorf("run was %q", got)
		}
		after := s.attachment(s.pod).Status
		if after.Containers[0].Time.Equal(before.Containers[0].Time) || after.Phase != before.Phase {
			t.Errorf("the record is %+v", after)
		}
		o.outlast()
		if got := s.verbs(); got != "" {
			t.Errorf("again, run was %q", got)
		}
	})
}

// ready says whether the pod is ready, from now on.
func (s *story) ready(is corev1.ConditionStatus) {
	s.t.Helper()
	s.changeStatus(s.pod, func(status *corev1.PodStatus) {
		status.Conditions[0].Status = is
		status.Conditions[0].LastTransitionTime = metav1.NewTime(s.clock.Now())
	})
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
				t.Fatalf("it is %s", got)
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
			if get(t, s.exporter); s.exporter.Status.Halt == nil || !strings.HasPrefix(s.exporter.Status.Halt.Message, "Pod app-0: Java process 7 in container app ended 1") {
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
		how   func(*fleet)
		halts bool
	}{
		"soon":                     {after: 7 * time.Second, phase: corev1.PodFailed, halts: true},
		"late":                     {after: 5 * time.Minute, phase: corev1.PodFailed},
		"it succeeds":              {after: 7 * time.Second, phase: corev1.PodSucceeded},
		"it has left the exporter": {after: 7 * time.Second, phase: corev1.PodFailed, how: func(f *fleet) { change(f.t, f.pods[0], func(pod *corev1.Pod) { delete(pod.Labels, "app") }) }},
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
				!strings.HasPrefix(halt.Message, "Pod app-0: Container app ended 7s after an attach: exit code 134, Error.") {
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

// The agent in a JVM was stopped by somebody: it is told to serve again, and its
// files are brought anew if they went with it, as jmx-attach unload has them go.
func TestListenStopped(t *testing.T) {
	for name, tc := range map[string]struct {
		without bool
		want    string
	}{
		"the files stay": {false, "status load"},
		"they are gone":  {true, "status load inspect stage load"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := checked(t, aPod("app-0"), nil)
			s.later(time.Hour)
			s.jvm(s.pod).Mark = &helperapi.Mark{Protocol: 1, State: helperapi.AgentStopped}
			if tc.without {
				clear(s.container(s.pod).files)
			}
			s.containers.health = errors.Join(steps.ErrUnreachable, errors.New("connection refused"))
			s.staySilent(o)
			s.containers.mend()
			o.outlastFor(12)
			s.isAnnotated("9400")
			if got := s.verbs(); got != tc.want || !s.jvm(s.pod).running() {
				t.Errorf("run was %q", got)
			}
		})
	}
}

// The agent serves, but the operator is kept from the pod: that is written down
// once, and the pod is asked every ten minutes without another exec, until it
// answers again.
func TestHealthCutOff(t *testing.T) {
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.health = errors.Join(steps.ErrUnreachable, errors.New("no route"))
	from := func() v1alpha1.CheckedFrom { return s.attachment(s.pod).Status.Processes[0].Endpoint.CheckedFrom }
	s.staySilent(o)
	if got := s.verbs(); got != "status" || from() != v1alpha1.CheckedFromPod {
		t.Errorf("run was %q, and it is checked from %s", got, from())
	}
	for i := range 4 {
		did, after := s.nextCheck(o)
		if i == 0 { // the pause from before it was written down
			continue
		}
		if len(did) != 1 || did[0] != "http health" || after < 10*time.Minute || after > 12*time.Minute {
			t.Errorf("it did %q, and it is asked again after %s", did, after)
		}
	}
	if got := s.verbs(); got != "" {
		t.Errorf("run was %q", got)
	}
	s.isAnnotated("9400")
	s.containers.mend()
	s.nextCheck(o)
	if from() != v1alpha1.CheckedFromOperator {
		t.Errorf("it is checked from %s", from())
	}
	o.outlastFor(3)
	s.isAnnotated("9400")
}

// The endpoint is dead in a JVM that lives: after the third time the record says
// so, and it is asked again until it answers.
func TestHealthSilent(t *testing.T) {
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.health = errors.Join(steps.ErrUnreachable, errors.New("connection refused"))
	s.containers.probe = fault(v1alpha1.ReasonEndpointNotServing)
	s.containers.fail(helperapi.VerbStatus, v1alpha1.ReasonEndpointNotServing)
	for i, want := range []string{isAnnotated, isAnnotated, "Loaded EndpointNotServing"} {
		s.nextCheck(o)
		if got := phaseOf(s.attachment(s.pod)); got != want {
			t.Errorf("after it was silent %d times, it is %s", i+1, got)
		}
	}
	s.containers.mend()
	o.outlastFor(20)
	s.isAnnotated("9400")
	if j := s.jvm(s.pod); len(j.asked) != 1 {
		t.Error("the JVM was touched")
	}
}
