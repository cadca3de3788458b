package attachment

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// missed tells whether a process is not on record any more, though its container was
// looked into.
func (w *walk) missed(p *v1alpha1.JavaProcess) bool {
	inspected := w.scope.Status().Inspected
	return inspected != nil && slices.Contains(inspected.ContainerIDs, p.ContainerID) &&
		!slices.ContainsFunc(w.scope.Status().Processes, func(other v1alpha1.JavaProcess) bool { return steps.Identity(&other) == steps.Identity(p) })
}

// noteRestart notes what may have ended processes that are gone.
func (w *walk) noteRestart(processes []v1alpha1.JavaProcess, gone func(*v1alpha1.JavaProcess) bool) {
	if restart := restartOf(w.scope, processes, gone); restart != nil {
		w.scope.Status().Restart = restart
	}
}

// restartOf is a container or JVM that ended within spec.rollout.restartWindow
// after an agent in it was loaded or changed, nil if none did: what may have hurt
// one is not done to the next, nor again to the same. The processes are those that
// the record had when the reconcile began: a load that finds its process gone did
// nothing to it.
func restartOf(s *steps.Scope, processes []v1alpha1.JavaProcess, gone func(*v1alpha1.JavaProcess) bool) *v1alpha1.Restart {
	window := ptr.Deref(s.Exporter.Spec.Rollout.RestartWindow, metav1.Duration{}).Duration
	for i := range processes {
		p := &processes[i]
		if window == 0 || p.Intent == nil || p.Adopted || !gone(p) {
			continue
		}
		what, ended := "Container", termination(s.Pod, p)
		if steps.Runs(s.Pod, p) {
			if !p.First && !alone(processes, p, gone) { // a tool beside the application, done
				continue
			}
			what, ended = fmt.Sprintf("Java process %d in container", p.PID), nil
		}
		if ended != nil && ended.ExitCode == 0 && s.Pod.Spec.RestartPolicy != corev1.RestartPolicyAlways { // done, as it is meant to be
			continue
		}
		at := s.Now.Time
		if ended != nil && !ended.FinishedAt.IsZero() {
			at = ended.FinishedAt.Time
		}
		after := at.Sub(p.Intent.Time.Time)
		if after >= window || after < 0 && p.Port == 0 { // it had ended before
			continue
		}
		return &v1alpha1.Restart{
			Revision:  s.Attachment.Spec.Revision,
			Container: p.Container,
			Message:   text.Cut(fmt.Sprintf("%s %s ended %s after an attach%s.", what, p.Container, max(after, 0).Round(time.Second), how(ended)), 512),
		}
	}
	return nil
}

// alone tells whether no other process that was chosen is left in the container.
func alone(processes []v1alpha1.JavaProcess, p *v1alpha1.JavaProcess, gone func(*v1alpha1.JavaProcess) bool) bool {
	for i := range processes {
		if other := &processes[i]; other.ContainerID == p.ContainerID && other.Refusal != v1alpha1.RefusalExcluded && !gone(other) {
			return false
		}
	}
	return true
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
