package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// A JVM that is slow to start holds up no other one: those are exposed and annotated
// meanwhile, and it is tried again.
func TestSlowStartHoldsUpNoOther(t *testing.T) {
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(withWorker())
	worker := s.containers.get(s.pod.UID, "worker").jvms[0]
	worker.Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."}
	s.exporter = s.export("exporter")
	o.tire()
	if diff := cmp.Diff([]string{"app 9400", "worker 0 JVMStarting"}, s.processes()); diff != "" {
		t.Fatalf("the processes (-want +got):\n%s", diff)
	}

	longest := time.Duration(0)
	for range 30 {
		again := o.settle()
		if again == 0 {
			t.Fatal("it is never tried again")
		}
		longest = max(longest, again)
		s.later(again)
		if got := phaseOf(s.attachment(s.pod)); got != "JavaFound JVMStarting" {
			t.Fatalf("the pod is %s, not as far as its least advanced JVM", got)
		}
		if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9400" {
			t.Fatalf("port %q is annotated", got)
		}
		if got, want := s.endpoints(s.exporter), "app-0 "+s.pod.Status.PodIP+":9400"; got != want {
			t.Fatalf("published is %q, not %q", got, want)
		}
	}
	if longest < 9*time.Minute || longest > 10*time.Minute {
		t.Errorf("it is tried again after %s at last", longest)
	}

	worker.Refusal = nil
	s.later(longest)
	o.settle()
	if diff := cmp.Diff([]string{"app 9400", "worker 9404"}, s.processes()); diff != "" {
		t.Errorf("the processes (-want +got):\n%s", diff)
	}
	s.areAnnotated("9400", "9404")
	s.prove(o)
	if worker.loads != 1 || s.jvm(s.pod).loads != 1 {
		t.Errorf("loaded %d and %d times", s.jvm(s.pod).loads, worker.loads)
	}
}

// One that serves is never left alone: it is tried again until it can move, and
// serves where it did until then, also for who reads the annotation.
func TestBusyPortOfOneOfSeveral(t *testing.T) {
	s, o := longRunning(t, withWorker(), nil)
	published := s.endpoints(s.exporter)
	s.container(s.pod).busy = []int32{9500}
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Port = 9500 })
	o.tire()
	if got := phaseOf(s.attachment(s.pod)); got != "Staged PortInUse" {
		t.Errorf("it is %s", got)
	}
	if got := s.annotations(s.pod)["prometheus.io/port"]; got != "9400" {
		t.Errorf("annotated is port %s", got)
	}
	if got := s.endpoints(s.exporter); got != published {
		t.Errorf("published is %q, want %q", got, published)
	}
	s.container(s.pod).busy = nil
	s.later(10 * time.Minute)
	o.settle()
	s.areAnnotated("9500", "9404")
}

// What was tried for one phase does not hold up another: an agent that was stopped
// is told again, though nobody may annotate.
func TestBackoffIsOfOnePhase(t *testing.T) {
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
		t.Fatalf("the attempt is %+v", a)
	}
	s.jvm(s.pod).Mark = &helperapi.Mark{Protocol: 1, State: helperapi.AgentStopped}
	s.containers.health = errors.Join(steps.ErrUnreachable, errors.New("nobody listens"))
	for range 6 {
		s.later(interval)
		s.check(o)
	}
	if !s.jvm(s.pod).running() {
		t.Errorf("the agent was not told in a minute: %s", phaseOf(s.attachment(s.pod)))
	}
}

// A JVM that a supervisor replaced soon after the attach halts the rollout, also
// when it is the pod's readiness that tells, and the pod is inspected a while later.
func TestReplacedAfterAttach(t *testing.T) {
	s := &story{cluster: newCluster(t)}
	o := s.operate()
	s.pod = s.run(aPod("app-0"))
	s.exporter = s.export("exporter")
	change(t, s.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Spec.Rollout.RestartWindow = &metav1.Duration{Duration: 2 * time.Minute}
	})
	o.settle()
	s.later(35 * time.Second)
	s.ready(corev1.ConditionFalse)
	s.containers.replace(s.container(s.pod), aJVM(javaStartTime+100))
	o.settle()
	s.later(5 * time.Second)
	s.ready(corev1.ConditionTrue)
	s.later(o.settle())
	o.settle()
	if got := phaseOf(s.attachment(s.pod)); got != "JavaFound RestartedAfterAttach" {
		t.Errorf("it is %s", got)
	}
	if get(t, s.exporter); s.exporter.Status.Halt == nil || s.jvm(s.pod).loads > 0 {
		t.Errorf("the rollout goes on, and the JVM was loaded into %d times", s.jvm(s.pod).loads)
	}
}

// Nothing is executed in a container that has just been started: no JVM in it is old
// enough for an agent.
func TestJustStarted(t *testing.T) {
	s, o := annotated(t)
	s.restart(s.pod)
	s.changeStatus(s.pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(s.clock.Now().Add(time.Second)) // which settle lets pass
	})
	again := o.settle()
	if got, verbs := phaseOf(s.attachment(s.pod)), s.verbs(); got != "Discovered JVMStarting" || verbs != "" {
		t.Errorf("it is %s, run was %q", got, verbs)
	}
	for range 3 {
		s.later(again)
		again = o.settle()
	}
	s.isAnnotated("9400")
	if ran := s.clock.Now().Sub(s.pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time); ran > 15*time.Second {
		t.Errorf("that took %s", ran)
	}
}

// careful goes one pod ahead, and then to all.
func careful(r *v1alpha1.Rollout) {
	r.MaxConcurrent, r.MaxConcurrentPerNode = 10, 10
	r.Canary.Count = new(int32(1))
	r.Canary.MinReadySeconds = new(int32(5))
}

// A halt holds for pods whose turn came before it, too.
func TestTurnBeforeTheHalt(t *testing.T) {
	f := aFleet(t, 3, careful)
	for _, pod := range f.pods[1:] {
		f.jvm(pod).Refusal = &helperapi.Error{Reason: helperapi.ReasonJVMStarting, Message: "It starts."}
	}
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("their turn has come", isAnnotated, "Discovered JVMStarting", "Discovered JVMStarting")
	f.restart(f.pods[0])
	f.o.settle()
	for _, pod := range f.pods[1:] {
		f.jvm(pod).Refusal = nil
	}
	f.later(time.Hour)
	f.expect("halted", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted", "JavaFound RolloutHalted")
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) {
		e.Annotations = map[string]string{v1alpha1.AnnotationResume: "1"}
	})
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("resumed", isAnnotated, isAnnotated, isAnnotated)
}

// A halt holds when the configuration is away for a moment.
func TestHaltOutlastsABrokenConfiguration(t *testing.T) {
	f := aFleet(t, 2, careful)
	f.o.settle()
	f.restart(f.pods[0])
	f.o.settle()
	remove(t, f.pods[0])
	f.pods = f.pods[1:]
	f.garbageCollect()
	f.expect("halted", "JavaFound RolloutHalted")
	configMap := f.configure("rules: [")
	f.expect("broken", "JavaFound ConfigNotYAML")
	remove(t, configMap)
	f.expect("gone", "JavaFound ConfigMapMissing")
	f.configure(rules)
	f.expect("back", "JavaFound RolloutHalted")
	if f.jvm(f.pods[0]).loads > 0 {
		t.Error("the pod was attached to")
	}
}
