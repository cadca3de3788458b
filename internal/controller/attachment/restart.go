package attachment

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// noteRestart records a container or JVM that ended within spec.rollout.restartWindow
// after an agent in it was loaded or changed: what may have hurt one is not done
// to the next, nor again to the same.
func (w *walk) noteRestart(gone func(*v1alpha1.JavaProcess) bool) {
	s := w.scope
	window := s.Exporter.Spec.Rollout.RestartWindow.Duration
	// A load that finds its process gone did nothing to it: it is the intents
	// from before that count.
	for i := range w.begun.Processes {
		p := &w.begun.Processes[i]
		if !steps.Ours(p) || !gone(p) {
			continue
		}
		what, ended := fmt.Sprintf("Java process %d in container", p.PID), (*corev1.ContainerStateTerminated)(nil)
		if !steps.Runs(s.Pod, p) {
			what, ended = "Container", termination(s.Pod, p)
		}
		at := s.Now.Time
		if ended != nil && !ended.FinishedAt.IsZero() {
			at = ended.FinishedAt.Time
		}
		after := max(at.Sub(p.Intent.Time.Time), 0) // the clocks are two
		if after >= window {
			continue
		}
		s.Status().Restart = &v1alpha1.Restart{
			Revision:  s.Attachment.Spec.Revision,
			Container: p.Container,
			Message:   text.Cut(fmt.Sprintf("%s %s ended %s after an attach%s.", what, p.Container, after.Round(time.Second), how(ended)), 512),
		}
	}
}

// termination is how the container that the process ran in ended; nil when the
// kubelet does not tell.
func termination(pod *corev1.Pod, p *v1alpha1.JavaProcess) *corev1.ContainerStateTerminated {
	for _, status := range append(append([]corev1.ContainerStatus{}, pod.Status.ContainerStatuses...), pod.Status.InitContainerStatuses...) {
		switch {
		case status.Name != p.Container:
		case status.State.Terminated != nil:
			return status.State.Terminated
		default:
			return status.LastTerminationState.Terminated
		}
	}
	return nil
}

func how(ended *corev1.ContainerStateTerminated) string {
	if ended == nil {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf(": exit code %d, %s", ended.ExitCode, ended.Reason), ", ")
}
