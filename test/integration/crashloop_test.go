package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// crash ends the pod's container app after a lifetime, and restarts it.
func (f *fleet) crash(pod *corev1.Pod, lived time.Duration) {
	f.t.Helper()
	get(f.t, pod)
	last := pod.Status.ContainerStatuses[0].ContainerID
	f.restart(pod)
	f.changeStatus(pod, func(status *corev1.PodStatus) {
		app, now := &status.ContainerStatuses[0], f.clock.Now()
		app.State.Running.StartedAt = metav1.NewTime(now)
		app.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: "Error", StartedAt: metav1.NewTime(now.Add(-lived)), FinishedAt: metav1.NewTime(now), ContainerID: last,
		}
	})
}

// The operator is not blamed for a pod that crashes by itself: it does not attach to the
// pod, and the rollout does not wait for it, until the container has run for ten minutes.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	const restarting = "JavaFound ContainerRestarting"
	f := aFleet(t, 2, nil)
	f.crash(f.pods[0], 20*time.Second)
	for range 4 {
		f.later(15 * time.Second)
		f.crash(f.pods[0], 15*time.Second)
		f.o.settle() // it has just started
		f.later(5 * time.Second)
		f.expect("the container crashes", restarting, isAnnotated)
	}
	f.later(5 * time.Second)
	f.expectSums("the container crashes", "2/1/2, Ready False Progressing, Stalled False Reconciled")
	if f.jvm(f.pods[0]).Loads > 0 {
		t.Error("the agent was loaded into a crashing container")
	}
	if f.exporter.Status.Halt != nil {
		t.Errorf("got halt %+v, want none", f.exporter.Status.Halt)
	}
	if got := f.attachment(f.pods[0]).Spec.Revision; got != "" {
		t.Errorf("revision granted to %s: got %q, want none", f.pods[0].Name, got)
	}
	started := f.pods[0].Status.ContainerStatuses[0].State.Running.StartedAt.Time
	again := f.o.settle()
	if want := started.Add(10 * time.Minute).Sub(f.clock.Now()); again != want {
		t.Errorf("next reconciliation: got %s, want %s", again, want)
	}
	f.o.did()
	f.later(again - 2*time.Second)
	if f.o.settle(); f.o.count() > 0 {
		t.Errorf("effects before the container is old enough: got %q, want none", f.o.did())
	}
	f.later(time.Second)
	f.expect("the container is old enough", isAnnotated, isAnnotated)

	f.later(time.Hour)
	f.crash(f.pods[0], time.Hour)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the old container exits", isAnnotated, isAnnotated)
	f.later(30 * time.Minute)
	f.crash(f.pods[0], 10*time.Second)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the container exits young", restarting, isAnnotated)
	change(t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.Rollout.RestartWindow = &metav1.Duration{} })
	f.expect("the restart window is 0", isAnnotated, isAnnotated)
}

// An attached pod is not changed either while its container is likely to exit by itself:
// the change would look like the cause, and halt the rollout.
func TestChangeBeforeAnExit(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
		r.MaxConcurrent, r.MaxConcurrentPerNode, r.Canary.Count = 10, 10, new(int32(0))
	})
	f.expect("at first", isAnnotated, isAnnotated)
	f.later(10 * time.Minute)
	f.crash(f.pods[0], 10*time.Minute)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the container has restarted", isAnnotated, isAnnotated)
	f.later(9*time.Minute + 20*time.Second)
	f.o.settle()
	f.configure(changed)
	f.expect("the configuration changes", "JavaFound ContainerRestarting", isAnnotated)
	if got := f.portsOf(f.pods[0]); got != "9400" {
		t.Errorf("ports of %s in EndpointSlices: got %q, want %q", f.pods[0].Name, got, "9400")
	}
	f.later(25 * time.Second)
	f.crash(f.pods[0], 10*time.Minute)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the container exits", "JavaFound ContainerRestarting", isAnnotated)
	f.later(11 * time.Minute)
	f.expect("the container runs", isAnnotated, isAnnotated)
	f.expectSums("the container runs", "2/2/2, Ready True AllAnnotated, Stalled False Reconciled")
}
