package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A pod that a pause stops in the middle of a change goes on when the pause is over, without
// another event: this is the operator as cmd/manager runs it, by the wall clock.
func TestPauseDuringChange(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 2, func(r *v1alpha1.Rollout) {
		patient(r)
		r.Canary.Count, r.RestartWindow = new(int32(0)), &metav1.Duration{Duration: 20 * time.Second}
	})
	f.startManager(config)
	phases := func(want ...string) {
		t.Helper()
		eventually(t, func() bool {
			for i, pod := range f.pods {
				if a := f.attachment(pod); a == nil || phaseOf(a) != want[i] {
					return false
				}
			}
			return true
		})
	}
	phases(isAnnotated, isAnnotated)
	first := f.configs()[1]
	f.jvm(f.pods[1]).Fault = fault(v1alpha1.ReasonExecFailed)
	f.configure(changed)
	phases(isAnnotated, "Staged "+v1alpha1.ReasonExecFailed)
	eventually(t, func() bool { return f.configs()[0] != first })
	exits := running("app")
	exits.State.Running.StartedAt = metav1.Now()
	exits.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.Now()}
	f.containers.Start(f.pods[0].UID, "app", aJVM(javaStartTime+restarts.Add(1)))
	eventually(t, func() bool { // the operator writes annotations meanwhile
		get(t, f.pods[0])
		f.pods[0].Status.ContainerStatuses[0] = exits
		return admin.Status().Update(t.Context(), f.pods[0]) == nil
	})
	eventually(t, func() bool {
		get(t, f.exporter)
		return f.exporter.Status.Restarts != nil && f.exporter.Status.Restarts.Paused
	})
	f.jvm(f.pods[1]).Fault = nil
	phases(waits, "Staged "+v1alpha1.ReasonRolloutPending)
	if got := f.configs()[1]; got != first {
		t.Errorf("during the pause, the other pod has the configuration %s, want %s", got, first)
	}
	phases(waits, isAnnotated)
	if got := f.configs()[1]; got == first {
		t.Errorf("after the pause, the other pod has the configuration %s still", got)
	}
}
