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
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// restartOf returns a container or JVM that exited within spec.rollout.restartWindow
// after its agent was loaded or changed, nil if there is none: the rollout must not go
// on to the next pod, or repeat the attach. It compares with the status at the start of
// the reconcile: a revision granted since, or a load that found its process gone, did
// nothing to the process.
func (s *Situation) restartOf(exporter *v1alpha1.PrometheusJmxExporter, gone func(*v1alpha1.JavaProcess) bool) *v1alpha1.Restart {
	processes := s.Begun.Processes
	window := restartWindow(exporter)
	for i := range processes {
		p := &processes[i]
		if window == 0 || p.Intent == nil || p.Adopted || !gone(p) {
			continue
		}
		what, ended := "Container", termination(s.Pod, p)
		if record.Runs(s.Pod, p) {
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
			Revision:  s.Begun.Revision,
			Container: p.Container,
			Message:   text.Cut(fmt.Sprintf("%s %s exited %s after an attach%s.", what, p.Container, max(after, 0).Round(time.Second), how(ended)), 512),
		}
	}
	return nil
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

// termination returns how the container of the process terminated; nil if the kubelet
// does not report it.
func termination(in *corev1.Pod, p *v1alpha1.JavaProcess) *corev1.ContainerStateTerminated {
	for _, status := range pod.ContainerStatuses(in) {
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

// restarting returns why nothing is attached or changed now in a container that may be
// about to exit by itself, according to the kubelet; nil if it may be. It assumes that
// instances exit at about the same age: an effect within spec.rollout.restartWindow before
// that age would look like the cause. The blocked time is two windows before that
// age and one window after it, so that an instance may exit one window earlier or later
// than the previous one.
func (s *Situation) restarting(container, id string) *statemachine.Outcome {
	window := restartWindow(s.Exporter)
	all := pod.ContainerStatuses(s.Pod)
	i := slices.IndexFunc(all, func(c corev1.ContainerStatus) bool { return c.Name == container && c.ContainerID == id })
	if i < 0 {
		return nil
	}
	now, last := all[i].State.Running, all[i].LastTerminationState.Terminated
	if window == 0 || now == nil || now.StartedAt.IsZero() || last == nil || last.StartedAt.IsZero() {
		return nil
	}
	age, lifetime := s.Now.Sub(now.StartedAt.Time), last.FinishedAt.Sub(last.StartedAt.Time)
	if age <= -window { // by another clock, which is not waited for
		return nil
	}
	age = max(age, 0)
	from, until := lifetime-2*window, lifetime+window
	if age <= from || age >= until {
		return nil
	}
	outcome := record.NotDone(v1alpha1.ReasonContainerRestarting, fmt.Sprintf(
		"Container %s restarted: its previous instance exited after %s, and this one may exit at the same age. Attaches and changes are delayed until it has run for %s; see the log of the previous instance.",
		container, lifetime, until))
	outcome.RetryAfter = until - age
	return &outcome
}
