package steps

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// restartOf returns a container or JVM that exited within spec.rollout.restartWindow
// after its agent was loaded or changed, nil if there is none, or if the pod's status
// explains the exit: the attach may be its cause. It compares with the status at the
// start of the reconcile: a revision granted since, or a load that found its process
// gone, did nothing to the process.
func (s *Situation) restartOf(exporter *v1alpha1.PrometheusJmxExporter, gone func(*v1alpha1.JavaProcess) bool) *v1alpha1.Restart {
	processes := s.Begun.Processes
	window := restartWindow(exporter)
	if window == 0 || pod.Explained(s.Pod) {
		return nil
	}
	for i := range processes {
		p := &processes[i]
		if p.Intent == nil || p.Adopted || !gone(p) || s.resized(p) {
			continue
		}
		what, ended := "Container", s.termination(p)
		if record.Runs(s.Pod, p) {
			if !p.Primary && !alone(processes, p, gone) { // a tool beside the application, done
				continue
			}
			what = fmt.Sprintf("Java process %d in container", p.PID)
		}
		if ended != nil && (pod.Completed(s.Pod, p.Container, ended) || pod.Unseen(ended)) {
			continue
		}
		after := s.ranAfterAttach(p)
		if after >= window || after < 0 && p.Port == 0 { // it had ended before
			continue
		}
		return s.restart(p, fmt.Sprintf("%s %s exited %s after an attach or a change%s.", what, p.Container, max(after, 0).Round(time.Second), s.how(ended)))
	}
	return nil
}

// restart returns the restart to record for a process that exited soon after an attach.
// The same exit counts once.
func (s *Situation) restart(p *v1alpha1.JavaProcess, message string) *v1alpha1.Restart {
	r := &v1alpha1.Restart{
		Revision: s.Begun.Revision, Container: p.Container, Message: text.Cut(message, 512),
		Process: record.Fingerprint(p), Time: new(s.Now), Count: 1,
	}
	if before := s.Begun.Restart; before != nil && before.Revision == r.Revision {
		r.Count = max(before.Count, 1) + 1
		if before.Process == r.Process {
			r.Count, r.Time = before.Count, before.Time
		}
	}
	return r
}

// ranAfterAttach returns how long a process that is gone ran after the last attach or
// change, at most. An exit in the future was seen by a clock that is ahead.
func (s *Situation) ranAfterAttach(p *v1alpha1.JavaProcess) time.Duration {
	at := s.Now.Time
	earlier := func(t metav1.Time) {
		if !t.IsZero() && t.Time.Before(at) {
			at = t.Time
		}
	}
	if ended := s.termination(p); ended != nil {
		earlier(ended.FinishedAt)
	} else if next := s.next(p); next != nil {
		earlier(next.StartedAt)
	}
	return at.Sub(p.Intent.Time.Time)
}

// resized reports whether the container of a process was restarted to resize it.
func (s *Situation) resized(p *v1alpha1.JavaProcess) bool {
	before, now := p.Intent.ResourcesSHA256, pod.RestartingResources(s.Pod, p.Container)
	return before != "" && now != "" && before != now
}

// restartWindow returns spec.rollout.restartWindow; 0 if it is disabled.
func restartWindow(exporter *v1alpha1.PrometheusJmxExporter) time.Duration {
	return ptr.Deref(exporter.Spec.Rollout.RestartWindow, metav1.Duration{}).Duration
}

// alone reports whether the container has no other selected process.
func alone(processes []v1alpha1.JavaProcess, p *v1alpha1.JavaProcess, gone func(*v1alpha1.JavaProcess) bool) bool {
	return !slices.ContainsFunc(processes, func(other v1alpha1.JavaProcess) bool {
		return other.ContainerID == p.ContainerID && !other.Excluded && !gone(&other)
	})
}

// termination returns how the instance of the container terminated that a process ran in;
// nil if it runs, or if the kubelet does not report it any more.
func (s *Situation) termination(p *v1alpha1.JavaProcess) *corev1.ContainerStateTerminated {
	ended := s.lastTermination(p)
	if ended == nil || ended.ContainerID != "" && ended.ContainerID != p.ContainerID {
		return nil
	}
	return ended
}

// next returns the last terminated instance of the container if it followed the one that
// a process ran in; nil if there is none.
func (s *Situation) next(p *v1alpha1.JavaProcess) *corev1.ContainerStateTerminated {
	if s.termination(p) != nil {
		return nil
	}
	return s.lastTermination(p)
}

func (s *Situation) lastTermination(p *v1alpha1.JavaProcess) *corev1.ContainerStateTerminated {
	if record.Runs(s.Pod, p) {
		return nil
	}
	for _, status := range pod.ContainerStatuses(s.Pod) {
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

// how says how a container ended, for the end of a sentence.
func (s *Situation) how(ended *corev1.ContainerStateTerminated) string {
	if s.Pod.Status.Reason != "" {
		return strings.TrimRight(fmt.Sprintf(": %s, %s", s.Pod.Status.Reason, s.Pod.Status.Message), ",. ")
	}
	if ended == nil {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf(": exit code %d, %s", ended.ExitCode, ended.Reason), ", ")
}
