package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// waits is the phase of a pod that is attached to again when its container has run for long.
const waits = "JavaFound ContainerRestarting"

// patient admits one canary, and then all pods. The second exit halts the rollout.
func patient(r *v1alpha1.Rollout) {
	careful(r)
	r.HaltThreshold = new(intstr.FromString("1%"))
}

// terminate shows the pod's container app as terminated, before it is restarted or the pod
// ends.
func (f *fleet) terminate(pod *corev1.Pod, code int32) {
	f.t.Helper()
	f.changeStatus(pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses[0].Ready = false
		status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: "Error", FinishedAt: metav1.NewTime(f.clock.Now()),
		}}
	})
	f.o.settle()
}

func (f *fleet) expectNoRestarts(when string) {
	f.t.Helper()
	get(f.t, f.exporter)
	if s := f.exporter.Status; s.Halt != nil || s.Restarts != nil {
		f.t.Errorf("%s: got halt %+v and restarts %+v, want none", when, s.Halt, s.Restarts)
	}
	if events := f.o.events.with(v1alpha1.ReasonRolloutPaused); len(events) > 0 {
		f.t.Errorf("%s: unexpected Events: %v", when, events)
	}
}

// One exit pauses the rollout, also for an operator that is started anew; a second one,
// in another pod, halts it.
func TestPauseThenHalt(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, patient)
	f.expect("at first", isAnnotated, isPending, isPending)
	f.later(3 * time.Second)
	f.restart(f.pods[0])
	f.expect("the canary exits", waits, isPending, isPending)
	f.expectSums("the canary exits", "1/0/3, Ready False RolloutPaused, Stalled False Reconciled")
	restarts := f.exporter.Status.Restarts
	if restarts == nil || !restarts.Paused || len(restarts.Pods) != 1 || restarts.Pods[0].Name != "app-0" || !strings.HasPrefix(restarts.Message, "Pod app-0: Container app exited ") {
		t.Fatalf("unexpected restarts: %+v", restarts)
	}
	if events := f.o.events.with(v1alpha1.ReasonRolloutPaused); len(events) == 0 || !strings.HasPrefix(events[0].Note, restarts.Message+" The rollout is paused for 1m0s") {
		t.Errorf("unexpected Events: %v", events)
	}

	f.o = f.operate() // another operator
	f.later(30 * time.Second)
	f.expect("another operator is started", waits, isPending, isPending)
	f.later(30 * time.Second)
	f.expect("the pause is over", waits, isAnnotated, isPending)
	f.expectSums("the pause is over", "2/1/3, Ready False Progressing, Stalled False Reconciled")

	f.restart(f.pods[1])
	f.expect("a second pod exits", "JavaFound RestartedAfterAttach", "JavaFound RestartedAfterAttach", "JavaFound RolloutHalted")
	f.expectSums("a second pod exits", "2/0/3, Ready False RestartedAfterAttach, Stalled True RestartedAfterAttach")
	if halt := f.exporter.Status.Halt; halt == nil || !strings.HasPrefix(halt.Message, "Pod app-1: Container app exited ") || !strings.Contains(halt.Message, "2 pods (app-0; app-1)") {
		t.Errorf("unexpected halt: %+v", halt)
	}
	if f.jvm(f.pods[2]).Loads > 0 {
		t.Error("the agent was loaded into a third pod")
	}
	f.resume("1")
	f.expect("the rollout is resumed", isAnnotated, isAnnotated, isPending)
	f.expectNoCount("the rollout is resumed")
}

func (f *fleet) expectNoCount(when string) {
	f.t.Helper()
	get(f.t, f.exporter)
	if s := f.exporter.Status; s.Halt != nil || s.Restarts != nil {
		f.t.Errorf("%s: got halt %+v and restarts %+v, want none", when, s.Halt, s.Restarts)
	}
}

// One pod alone never halts the rollout: it is attached to again when it has run for ten
// minutes, and after a second exit waits for a person.
func TestOnePodPausesOnly(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, patient)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.crash(f.pods[2], 10*time.Second)
	f.o.settle() // it has just started
	f.later(5 * time.Second)
	f.expect("a container exits", isAnnotated, isAnnotated, waits)
	f.later(9 * time.Minute)
	f.expect("the container runs for nine minutes", isAnnotated, isAnnotated, waits)
	f.later(time.Minute)
	f.expect("the container runs for ten minutes", isAnnotated, isAnnotated, isAnnotated)
	f.crash(f.pods[2], 11*time.Minute)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the container exits again", isAnnotated, isAnnotated, "JavaFound RestartedAfterAttach")
	f.later(24 * time.Hour)
	f.expect("a day later", isAnnotated, isAnnotated, "JavaFound RestartedAfterAttach")
	if get(t, f.exporter); f.exporter.Status.Halt != nil {
		t.Errorf("got halt %+v, want none", f.exporter.Status.Halt)
	}
	f.resume("1")
	f.expect("the rollout is resumed", isAnnotated, isAnnotated, isAnnotated)
}

// A pod whose container has run for ten minutes after it was attached to again has recovered:
// its exit neither delays an attach later, nor adds up with others.
func TestRecoveredExit(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, patient)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.crash(f.pods[1], 10*time.Second)
	f.o.settle()
	f.later(10 * time.Minute)
	f.expect("the container has run for ten minutes", isAnnotated, isAnnotated)
	if f.attachment(f.pods[1]).Status.Restart == nil {
		t.Error("the exit is forgotten at once")
	}
	f.later(10 * time.Minute)
	f.o.settle()
	if exit := f.attachment(f.pods[1]).Status.Restart; exit != nil {
		t.Errorf("ten minutes later: got exit %+v, want none", exit)
	}
	if get(t, f.exporter); f.exporter.Status.Restarts == nil {
		t.Error("the exit of half an hour ago does not count")
	}
	f.later(24 * time.Hour)
	f.o.settle()
	f.expectNoCount("a day later")
	f.crash(f.pods[1], 24*time.Hour)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the container restarts", isAnnotated, isAnnotated)
	f.expectNoCount("the container restarts")
}

// What ends a pod as a whole says so after its containers have terminated: it neither
// pauses nor halts the rollout.
func TestEndOfPodIsNoExit(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*corev1.PodStatus){
		"the node shuts down":        func(status *corev1.PodStatus) { status.Phase, status.Reason = corev1.PodFailed, "Terminated" },
		"the pod's deadline is over": func(status *corev1.PodStatus) { status.Phase, status.Reason = corev1.PodFailed, "DeadlineExceeded" },
		"the scheduler preempts a pod": func(status *corev1.PodStatus) {
			status.Phase = corev1.PodFailed
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 3, careful) // the first exit would halt
			f.expect("at first", isAnnotated, isPending, isPending)
			f.changeStatus(f.pods[0], func(status *corev1.PodStatus) {
				status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 143, Reason: "Error", FinishedAt: metav1.NewTime(f.clock.Now())}}
				end(status)
			})
			f.o.settle()
			f.expectNoRestarts("the pod has ended")
			f.later(5 * time.Second)
			if got := phaseOf(f.attachment(f.pods[1])); got != isAnnotated {
				f.o.settle()
				t.Errorf("%s: got %q, want %q", f.pods[1].Name, got, isAnnotated)
			}
		})
	}
}

// An eviction for a limit of the pod's own counts, since the operator's files use it up. One
// because its node lacks a resource only pauses.
func TestEviction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		message string
		halts   bool
	}{
		"a limit of the pod":    {`Container app exceeded its local ephemeral storage limit "10Mi". `, true},
		"the node lacks memory": {"The node was low on resource: memory. ", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := aFleet(t, 3, careful) // the first exit that counts halts
			f.expect("at first", isAnnotated, isPending, isPending)
			f.changeStatus(f.pods[0], func(status *corev1.PodStatus) {
				status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "Error", FinishedAt: metav1.NewTime(f.clock.Now())}}
				status.Phase, status.Reason, status.Message = corev1.PodFailed, "Evicted", tc.message
			})
			f.o.settle()
			get(t, f.exporter)
			if s := f.exporter.Status; (s.Halt != nil) != tc.halts || s.Restarts == nil || s.Restarts.Paused == tc.halts || !strings.Contains(s.Restarts.Message, strings.TrimSpace(tc.message)) {
				t.Errorf("got halt %+v and restarts %+v", s.Halt, s.Restarts)
			}
			f.later(time.Minute + 5*time.Second)
			f.o.settle()
			if got, want := phaseOf(f.attachment(f.pods[1])) == isAnnotated, !tc.halts; got != want {
				t.Errorf("%s is annotated after the pause: %t, want %t", f.pods[1].Name, got, want)
			}
		})
	}
}

// As long as a terminated container may be the first sign of the pod's end, its exit pauses
// the rollout, and does not halt it.
func TestContainersTerminateFirst(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 4, patient)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
	for _, pod := range f.pods[1:3] {
		f.terminate(pod, 143)
	}
	get(t, f.exporter)
	if s := f.exporter.Status; s.Halt != nil || s.Restarts == nil || len(s.Restarts.Pods) != 2 || !s.Restarts.Paused {
		t.Errorf("two containers terminate: got halt %+v and restarts %+v, want a pause", s.Halt, s.Restarts)
	}
	for _, pod := range f.pods[1:3] {
		f.changeStatus(pod, func(status *corev1.PodStatus) { status.Phase, status.Reason = corev1.PodFailed, "Terminated" })
	}
	f.o.settle()
	f.expectNoCount("the node was shut down")
	f.terminate(f.pods[0], 1)
	f.terminate(f.pods[3], 1)
	f.restart(f.pods[0])
	f.restart(f.pods[3])
	f.o.settle()
	if get(t, f.exporter); f.exporter.Status.Halt == nil {
		t.Error("two containers run again: the rollout is not halted")
	}
}

// A container that served for ten minutes with the revision gets it again when it restarts,
// although the rollout is halted. If it exits soon after that, it does not.
func TestProvenDuringHalt(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 3, careful)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated, isAnnotated)
	f.later(10 * time.Minute)
	late := f.run(aPod("app-3"))
	f.pods = append(f.pods, late)
	f.expect("a pod is created", isAnnotated, isAnnotated, isAnnotated, isAnnotated)
	f.restart(late)
	f.expect("the new pod exits", isAnnotated, isAnnotated, isAnnotated, "JavaFound RestartedAfterAttach")
	f.restart(f.pods[0])
	f.expect("another container restarts during the halt", isAnnotated, isAnnotated, isAnnotated, "JavaFound RestartedAfterAttach")
	if got := f.portsOf(f.pods[0]); got != "9400" || f.jvm(f.pods[0]).Loads != 1 {
		t.Errorf("%s: got ports %q and %d loads, want 9400 and one", f.pods[0].Name, got, f.jvm(f.pods[0]).Loads)
	}
	if get(t, f.exporter); f.exporter.Status.Halt == nil {
		t.Error("the rollout is not halted")
	}
	f.later(2 * time.Minute)
	f.restart(f.pods[0])
	f.expect("it restarts again after the window", isAnnotated, isAnnotated, isAnnotated, "JavaFound RestartedAfterAttach")
	f.restart(f.pods[0])
	f.expect("it restarts again at once", "JavaFound RestartedAfterAttach", isAnnotated, isAnnotated, "JavaFound RestartedAfterAttach")
}

// A container that ran for less than ten minutes with the revision has not proven it.
func TestUnprovenDuringHalt(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, careful)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(2 * time.Minute)
	late := f.run(aPod("app-2"))
	f.pods = append(f.pods, late)
	f.o.settle()
	f.restart(late)
	f.o.settle()
	f.restart(f.pods[0])
	f.expect("the new pod exits, and another container restarts", "JavaFound RolloutHalted", isAnnotated, "JavaFound RestartedAfterAttach")
}

// A release that never becomes ready, and exits or is rolled back, was not attached to.
func TestNotReady(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, nil)
	ready := func(pod *corev1.Pod, is bool) {
		f.changeStatus(pod, func(status *corev1.PodStatus) {
			status.ContainerStatuses[0].Ready = is
			status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(f.clock.Now().Add(-5 * time.Second))
		})
	}
	ready(f.pods[0], false)
	ready(f.pods[1], false)
	f.expect("the containers start", "JavaFound ContainerNotReady", "JavaFound ContainerNotReady")
	f.crash(f.pods[0], 20*time.Second)
	f.expectNoRestarts("a container exits")
	ready(f.pods[1], true)
	f.o.settle()
	if got := phaseOf(f.attachment(f.pods[1])); got != isAnnotated {
		t.Errorf("the container is ready: got %q, want %q", got, isAnnotated)
	}
	ready(f.pods[0], false)
	f.later(20 * time.Minute)
	f.expect("the container is old, and never ready", isAnnotated, isAnnotated)
}

// Exits at irregular ages of a container that ran with the revision for long pause the
// rollout at most, and the container waits after the first of them.
func TestIrregularCrashLoop(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, careful) // the first exit that counts would halt
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(time.Hour)
	for _, lived := range []time.Duration{time.Hour, 30 * time.Second, 5 * time.Minute, 10 * time.Second, 4 * time.Minute} {
		f.crash(f.pods[1], lived)
		f.o.settle()
		f.later(20 * time.Second)
		f.o.settle()
	}
	if get(t, f.exporter); f.exporter.Status.Halt != nil {
		t.Errorf("got halt %+v, want none", f.exporter.Status.Halt)
	}
	if exit := f.attachment(f.pods[1]).Status.Restart; exit == nil || exit.Count != 1 {
		t.Errorf("got exit %+v, want one", exit)
	}
	f.expect("the container exits at irregular ages", isAnnotated, waits)
	f.later(10 * time.Minute)
	f.expect("the container runs", isAnnotated, isAnnotated)
}

// The values of spec.rollout.haltThreshold that the API accepts.
func TestHaltThreshold(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for value, ok := range map[string]bool{
		"1": true, "100": true, "1%": true, "100%": true, "0": false, "101": false, "-1": false, "0%": false, "101%": false, "1.5%": false, "many": false, "%": false,
	} {
		e := c.anExporter("exporter")
		e.GenerateName, e.Name = "exporter-", ""
		e.Spec.Rollout.HaltThreshold = new(intstr.Parse(value))
		if err := admin.Create(t.Context(), e); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "must be 1 to 100, or 1% to 100%") {
			t.Errorf("%s: got %v, want accepted: %t", value, err, ok)
		}
	}
}
