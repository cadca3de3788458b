package attachment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// missed reports whether a process is no longer on record, though its container was
// inspected.
func (v *visit) missed(p *v1alpha1.JavaProcess) bool {
	status := v.scope.Status()
	return slices.ContainsFunc(status.Containers, func(c v1alpha1.InspectedContainer) bool { return c.ContainerID == p.ContainerID && c.Reason == "" }) &&
		!slices.ContainsFunc(status.Processes, func(other v1alpha1.JavaProcess) bool { return steps.Identity(&other) == steps.Identity(p) })
}

// noteRestart notes what may have ended processes that are gone.
func (v *visit) noteRestart(gone func(*v1alpha1.JavaProcess) bool) {
	if restart := restartOf(v.scope, v.begun, gone); restart != nil {
		v.scope.Status().Restart = restart
	}
}

// restartOf is a container or JVM that ended within spec.rollout.restartWindow
// after an agent in it was loaded or changed, nil if none did: what may have hurt
// one is not done to the next, nor again to the same. It is held against what the
// pod had when the reconcile began: a revision that was granted since, or a load that
// finds its process gone, did nothing to it.
func restartOf(s *steps.Scope, begun *v1alpha1.JmxAttachmentStatus, gone func(*v1alpha1.JavaProcess) bool) *v1alpha1.Restart {
	processes := begun.Processes
	window := restartWindow(s)
	for i := range processes {
		p := &processes[i]
		if window == 0 || p.Intent == nil || p.Adopted || !gone(p) {
			continue
		}
		what, ended := "Container", termination(s.Pod, p)
		if steps.Runs(s.Pod, p) {
			if !p.Primary && !alone(processes, p, gone) { // a tool beside the application, done
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
			Revision:  begun.Revision,
			Container: p.Container,
			Message:   text.Cut(fmt.Sprintf("%s %s ended %s after an attach%s.", what, p.Container, max(after, 0).Round(time.Second), how(ended)), 512),
		}
	}
	return nil
}

// restartWindow is spec.rollout.restartWindow; 0 if it is disabled.
func restartWindow(s *steps.Scope) time.Duration {
	return ptr.Deref(s.Exporter.Spec.Rollout.RestartWindow, metav1.Duration{}).Duration
}

// alone reports whether no other process that was chosen is left in the container.
func alone(processes []v1alpha1.JavaProcess, p *v1alpha1.JavaProcess, gone func(*v1alpha1.JavaProcess) bool) bool {
	for i := range processes {
		if other := &processes[i]; other.ContainerID == p.ContainerID && !other.Excluded && !gone(other) {
			return false
		}
	}
	return true
}

// termination is how the container that the process ran in ended; nil when the
// kubelet does not report it.
func termination(pod *corev1.Pod, p *v1alpha1.JavaProcess) *corev1.ContainerStateTerminated {
	for _, status := range steps.ContainerStatuses(pod) {
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

// resume forgets what halted the rollout, since a person has looked at it, and had it
// resumed: it is tried again.
func resume(s *steps.Scope) {
	status, value := s.Status(), steps.Resume(s.Exporter)
	if status.Resume == value {
		return
	}
	status.Resume, status.Restart = value, nil
	for i := range status.Processes {
		if p := &status.Processes[i]; v1alpha1.Halts(p.Reason) {
			p.Reason, p.Message, p.Attempt = "", "", nil
		}
	}
}

// haltTimeout is how long a record waits for the halt of its rollout, before it
// looks whether it still has to.
const haltTimeout = 5 * time.Second

// awaitHalt keeps the record of a pod that failed soon after an attach until the
// rollout is halted for it: a pod that is not restarted fails as a whole, and
// nothing but its record says so. Nobody halts the rollout of an exporter that is
// terminating, nor for a revision that is not the exporter's.
func (r *Reconciler) awaitHalt(ctx context.Context, attachment *v1alpha1.JmxAttachment, found subjects) (waits bool, err error) {
	exporter, status := found.exporter, &attachment.Status
	if exporter == nil || !exporter.DeletionTimestamp.IsZero() || found.pod.Status.Phase != corev1.PodFailed || !selection.Selects(exporter, found.pod) ||
		exporter.Status.Revision != status.Revision || attachment.Spec.Revision != status.Revision || exporter.Status.Halt != nil {
		return false, nil
	}
	value := steps.Resume(exporter)
	if status.Restart != nil && status.Resume != value { // a person has looked at it
		return false, nil
	}
	s := &steps.Scope{Attachment: attachment, Pod: found.pod, Exporter: exporter, Now: r.now()}
	restart := restartOf(s, status, func(*v1alpha1.JavaProcess) bool { return true })
	if restart == nil || status.Restart != nil && *status.Restart == *restart {
		return restart != nil, nil
	}
	status.Restart, status.Resume = restart, value
	return true, r.Writer.AttachmentStatus(ctx, attachment, status)
}
