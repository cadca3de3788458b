package podcache

import (
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/problem"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// maxMessage limits the messages kept of a pod: no more is ever shown.
const maxMessage = 512

func said(message string) string { return text.Line(message, maxMessage) }

// conditions returns the conditions about readiness and scheduling.
func conditions(all []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range all {
		switch c.Type {
		case corev1.PodReady:
			kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		case corev1.PodScheduled:
			kept = append(kept, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, Message: said(c.Message), LastTransitionTime: c.LastTransitionTime,
			})
		default: // nobody asks
		}
	}
	return kept
}

// doorStatuses returns the statuses of the operator's ephemeral containers.
func doorStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, s := range all {
		if transport.IsDoor(s.Name) {
			out = append(out, corev1.ContainerStatus{Name: s.Name, State: state(s.State)})
		}
	}
	return out
}

func containerStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, len(all))
	for i, s := range all {
		out[i] = corev1.ContainerStatus{
			Name: s.Name, ContainerID: s.ContainerID, RestartCount: s.RestartCount,
			State: state(s.State), LastTerminationState: state(s.LastTerminationState),
		}
	}
	return out
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
			StartedAt: s.Terminated.StartedAt, FinishedAt: s.Terminated.FinishedAt,
		}}
	}
	return corev1.ContainerState{}
}
