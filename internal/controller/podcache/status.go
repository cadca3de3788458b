package podcache

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/problem"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// maxMessage limits the messages kept of a pod: no more is ever shown.
const maxMessage = 512

func said(message string) string { return text.Line(message, maxMessage) }

// conditions returns the conditions about readiness, scheduling and disruption.
func conditions(all []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range all {
		switch c.Type {
		case corev1.PodReady:
			kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		case corev1.DisruptionTarget:
			kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		case corev1.PodScheduled:
			kept = append(kept, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, Message: said(c.Message), LastTransitionTime: c.LastTransitionTime,
			})
		default: // nobody asks
		}
	}
	return kept
}

// ephemeralStatuses returns the statuses of the ephemeral containers that are kept.
func ephemeralStatuses(all []corev1.ContainerStatus, kept []corev1.EphemeralContainer) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, s := range all {
		if slices.ContainsFunc(kept, func(c corev1.EphemeralContainer) bool { return c.Name == s.Name }) {
			out = append(out, corev1.ContainerStatus{Name: s.Name, State: state(s.State)})
		}
	}
	return out
}

// containerStatuses returns the statuses of containers. Of resources it keeps those of
// containers that a resize may restart.
func containerStatuses(all []corev1.ContainerStatus, specs []corev1.Container) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, len(all))
	for i, s := range all {
		out[i] = corev1.ContainerStatus{
			Name: s.Name, ContainerID: s.ContainerID, RestartCount: s.RestartCount, Ready: s.Ready,
			State: state(s.State), LastTerminationState: state(s.LastTerminationState),
		}
		if slices.ContainsFunc(specs, func(c corev1.Container) bool { return c.Name == s.Name && len(resizePolicy(c)) > 0 }) {
			out[i].Resources = s.Resources
		}
	}
	return out
}

// resizePolicy returns the resources whose resize restarts a container.
func resizePolicy(c corev1.Container) []corev1.ContainerResizePolicy {
	var kept []corev1.ContainerResizePolicy
	for _, p := range c.ResizePolicy {
		if p.RestartPolicy == corev1.RestartContainer {
			kept = append(kept, p)
		}
	}
	return kept
}

func state(s corev1.ContainerState) corev1.ContainerState {
	switch {
	case s.Waiting != nil:
		message := said(s.Waiting.Message)
		if s.Waiting.Reason == "CrashLoopBackOff" {
			message = "" // it says for how long, another time each time
		}
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: s.Waiting.Reason, Message: message}}
	case s.Running != nil:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: s.Running.StartedAt}}
	case s.Terminated != nil:
		message := ""
		if problem.RuntimeSays(s.Terminated.Reason) {
			message = said(s.Terminated.Message)
		}
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: s.Terminated.ExitCode, Reason: s.Terminated.Reason, Message: message,
			StartedAt: s.Terminated.StartedAt, FinishedAt: s.Terminated.FinishedAt, ContainerID: s.Terminated.ContainerID,
		}}
	}
	return corev1.ContainerState{}
}
