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

// missed reports whether a process is no longer in the record, although its container
// was inspected.
func (v *visit) missed(p *v1alpha1.JavaProcess) bool {
	return v.scope.Known(steps.Identity(p)) == nil &&
		slices.ContainsFunc(v.scope.Status().Containers, func(c v1alpha1.InspectedContainer) bool { return c.ContainerID == p.ContainerID && c.Reason == "" })
}

// noteRestart records a restart that an attach may have caused, for processes that are
// gone.
func (v *visit) noteRestart(gone func(*v1alpha1.JavaProcess) bool) {
	if restart := restartOf(v.scope, v.begun, gone); restart != nil {
		v.scope.Status().Restart = restart
	}
}

// restartOf returns a container or JVM that exited within spec.rollout.restartWindow
// after its agent was loaded or changed, nil if there is none: the rollout must not go
// on to the next pod, or repeat the attach. It compares with the status at the start of
// the reconcile: a revision granted since, or a load that found its process gone, did
// nothing to the process.
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
			Message:   text.Cut(fmt.Sprintf("%s %s exited %s after an attach%s.", what, p.Container, max(after, 0).Round(time.Second), how(ended)), 512),
		}
	}
	return nil
}

// restartWindow returns spec.rollout.restartWindow; 0 if it is disabled.
func restartWindow(s *steps.Scope) time.Duration {
	return ptr.Deref(s.Exporter.Spec.Rollout.RestartWindow, metav1.Duration{}).Duration
}

// alone reports whether the container has no other selected process.
func alone(processes []v1alpha1.JavaProcess, p *v1alpha1.JavaProcess, gone func(*v1alpha1.JavaProcess) bool) bool {
	return !slices.ContainsFunc(processes, func(other v1alpha1.JavaProcess) bool {
		return other.ContainerID == p.ContainerID && !other.Excluded && !gone(&other)
	})
}

// termination returns how the container of the process terminated; nil if the kubelet
// does not report it.
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

// resume clears what halted the rollout after a person has resumed it: the pod is tried
// again.
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

// haltTimeout is how long a record waits for its rollout to be halted, before it checks
// whether it still has to.
const haltTimeout = 5 * time.Second

// awaitHalt keeps the record of a pod that failed soon after an attach until its rollout
// is halted: if the pod is not restarted, it fails as a whole, and only its record shows
// the cause. It does not wait if the exporter is terminating, or if the revision is no
// longer the exporter's.
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
