package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
)

// A JVM that is slow to start delays no other JVM: the others are exposed and annotated
// meanwhile, and the slow one is retried.
func TestSlowStartHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(withWorker())
	worker := s.containers.Get(s.pod.UID, "worker").JVMs[0]
	worker.Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."}
	s.exporter = s.export("exporter")
	o.tire()
	if diff := cmp.Diff([]string{"app 9400", "worker 0 JVMStarting"}, s.processes()); diff != "" {
		t.Fatalf("processes in the status (-want +got):\n%s", diff)
	}

	longest := time.Duration(0)
	for range 30 {
		again := o.settle()
		if again == 0 {
			t.Fatal("the JVM that is starting is not retried")
		}
		longest = max(longest, again)
		s.later(again)
		if got := phaseOf(s.attachment(s.pod)); got != "JavaFound JVMStarting" {
			t.Fatalf("phase of %s: got %q, want %q", s.pod.Name, got, "JavaFound JVMStarting")
		}
		if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9400" {
			t.Fatalf("prometheus.io/port of %s: got %q, want %q", s.pod.Name, got, "9400")
		}
		if got, want := s.endpoints(s.exporter), "app-0 "+s.pod.Status.PodIP+":9400"; got != want {
			t.Fatalf("endpoints of the exporter: got %q, want %q", got, want)
		}
	}
	if longest < 9*time.Minute || longest > 10*time.Minute {
		t.Errorf("the longest retry interval is %s, want 9m to 10m", longest)
	}

	worker.Refusal = nil
	s.later(longest)
	o.settle()
	if diff := cmp.Diff([]string{"app 9400", "worker 9404"}, s.processes()); diff != "" {
		t.Errorf("processes in the status (-want +got):\n%s", diff)
	}
	s.areAnnotated("9400", "9404")
	s.prove(o)
	if worker.Loads != 1 || s.jvm(s.pod).Loads != 1 {
		t.Errorf("loads of the agent: got %d in app and %d in worker, want 1 in each", s.jvm(s.pod).Loads, worker.Loads)
	}
}

// A JVM whose endpoint serves is retried until its port can change. Until then it serves
// on its previous port, and the annotation names that port.
func TestBusyPortOfOneOfSeveral(t *testing.T) {
	t.Parallel()
	s, o := longRunning(t, withWorker(), nil)
	published := s.endpoints(s.exporter)
	s.container(s.pod).Busy = []int32{9500}
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	o.tire()
	if got := phaseOf(s.attachment(s.pod)); got != "Staged PortInUse" {
		t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, "Staged PortInUse")
	}
	if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9400" {
		t.Errorf("prometheus.io/port of %s: got %q, want %q", s.pod.Name, got, "9400")
	}
	if got := s.endpoints(s.exporter); got != published {
		t.Errorf("endpoints of the exporter: got %q, want %q", got, published)
	}
	s.container(s.pod).Busy = nil
	s.later(10 * time.Minute)
	o.settle()
	s.areAnnotated("9500", "9404")
}

// The backoff of one phase does not delay another: an agent that was stopped is
// reloaded, although the annotations are denied.
func TestBackoffIsOfOnePhase(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	s.listenEvery = interval
	o := s.operate()
	o.fate = func(_ int, effect effects.Effect, do func() error) error {
		if effect.What == string(records.OwnerPodAnnotations) {
			return errors.New("admission webhook \"x\" denied the request: nobody annotates here")
		}
		return do()
	}
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	o.settle()
	for range 12 {
		s.later(12 * time.Minute)
		o.settle()
	}
	if a := s.attachment(s.pod).Status.Attempt; a == nil || a.Phase != v1alpha1.PhaseAnnotated || a.Count < 10 {
		t.Fatalf("the attempt of phase Annotated is %+v, want a count of at least 10", a)
	}
	s.jvm(s.pod).Mark = &helperapi.Mark{Protocol: 1, State: helperapi.AgentStopped}
	s.containers.HealthFault = errors.Join(probe.ErrUnreachable, errors.New("connection refused"))
	for range 6 {
		s.later(interval)
		s.check(o)
	}
	if !s.jvm(s.pod).Running() {
		t.Errorf("the agent was not reloaded within a minute; the phase is %s", phaseOf(s.attachment(s.pod)))
	}
}

// A JVM that a supervisor replaced soon after the attach halts the rollout, also
// when only the pod's readiness shows it, and the pod is inspected a while later.
func TestReplacedAfterAttach(t *testing.T) {
	t.Parallel()
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: 2 * time.Minute}
		e.Spec.Rollout.HaltThreshold = new(intstr.FromInt32(1))
	})
	o.settle()
	s.later(35 * time.Second)
	s.ready(corev1.ConditionFalse)
	s.containers.Replace(s.container(s.pod), aJVM(javaStartTime+100))
	o.settle()
	s.later(5 * time.Second)
	s.ready(corev1.ConditionTrue)
	s.later(o.settle())
	o.settle()
	if got := phaseOf(s.attachment(s.pod)); got != "JavaFound RestartedAfterAttach" {
		t.Errorf("phase of %s: got %q, want %q", s.pod.Name, got, "JavaFound RestartedAfterAttach")
	}
	if get(t, s.exporter); s.exporter.Status.Halt == nil || s.jvm(s.pod).Loads > 0 {
		t.Errorf("the rollout is not halted; the agent was loaded %d times into the new JVM", s.jvm(s.pod).Loads)
	}
}

// Nothing is executed in a container that has just started: no JVM in it is old
// enough for an agent.
func TestJustStarted(t *testing.T) {
	t.Parallel()
	s, o := annotated(t)
	s.restart(s.pod)
	s.changeStatus(s.pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.clock.Now().Add(time.Second)) // settle lets this time pass
	})
	again := o.settle()
	if got, verbs := phaseOf(s.attachment(s.pod)), s.verbs(); got != "Discovered JVMStarting" || verbs != "" {
		t.Errorf("phase %q with helper operations %q, want Discovered JVMStarting and none", got, verbs)
	}
	for range 3 {
		s.later(again)
		again = o.settle()
	}
	s.isAnnotated("9400")
	if ran := s.clock.Now().Sub(s.pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time); ran > 15*time.Second {
		t.Errorf("the pod was attached to %s after its container started, want at most 15s", ran)
	}
}

// careful admits one canary, and then all pods. The first exit halts the rollout.
func careful(r *v1alpha1.Rollout) {
	r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
	r.Canary.Count = new(int32(1))
	r.Canary.MinReadySeconds = new(int32(5))
	r.HaltThreshold = new(intstr.FromInt32(1))
}

// A halt also applies to pods that were granted a slot before it.
func TestTurnBeforeTheHalt(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, careful)
	for _, pod := range f.pods[1:] {
		f.jvm(pod).Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."}
	}
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("slots are granted", isAnnotated, "Discovered JVMStarting", "Discovered JVMStarting")
	f.restart(f.pods[0])
	f.o.settle()
	for _, pod := range f.pods[1:] {
		f.jvm(pod).Refusal = nil
	}
	f.later(time.Hour)
	f.expect("the rollout is halted", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted", "JavaFound RolloutHalted")
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"}
	})
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the rollout is resumed", isAnnotated, isAnnotated, isAnnotated)
}

// A halt persists while the configuration is temporarily missing.
func TestHaltOutlastsABrokenConfiguration(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, careful)
	f.o.settle()
	f.restart(f.pods[0])
	f.o.settle()
	remove(t, f.pods[0])
	f.pods = f.pods[1:]
	f.garbageCollect()
	f.expect("the rollout is halted", "JavaFound RolloutHalted")
	configMap := f.configure("rules: [")
	f.expect("the configuration is invalid", "JavaFound ConfigNotYAML")
	remove(t, configMap)
	f.expect("the ConfigMap is missing", "JavaFound ConfigMapMissing")
	f.configure(rules)
	f.expect("the ConfigMap is restored", "JavaFound RolloutHalted")
	if f.jvm(f.pods[0]).Loads > 0 {
		t.Error("the agent was loaded during the halt")
	}
}
