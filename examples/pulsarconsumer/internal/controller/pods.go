package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
)

// podsOf are the pods of the ReplicaSets of the Deployment, if it is the object's. Labels
// alone prove nothing: anybody's pod may have them.
func podsOf(ctx context.Context, reader client.Reader, object *v1.PulsarConsumer, deployment *child) ([]corev1.Pod, error) {
	if !deployment.Exists() {
		return nil, nil
	}
	var replicaSets appsv1.ReplicaSetList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&replicaSets, &pods} {
		if err := reader.List(ctx, list, client.InNamespace(object.Namespace), client.MatchingLabels(labelsOf(object.Name))); err != nil {
			return nil, err
		}
	}
	replicaSets.Items = slices.DeleteFunc(replicaSets.Items, func(r appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(&r, deployment.Object) })
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return !slices.ContainsFunc(replicaSets.Items, func(r appsv1.ReplicaSet) bool { return metav1.IsControlledBy(&pod, &r) })
	}), nil
}

// subscribed are the pods that are Ready, which means that they are subscribed.
func subscribed(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		return !ready || !pod.DeletionTimestamp.IsZero()
	})
}

// valuesOf are those of a variable of the application in pods, each once, sorted.
func valuesOf(pods []corev1.Pod, variable string) string {
	var values []string
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			for _, env := range container.Env {
				if container.Name == containerName && env.Name == variable {
					values = append(values, env.Value)
				}
			}
		}
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ", ")
}

// ofApplication are the reasons that the application writes into its termination
// message, before a colon.
var ofApplication = []string{ReasonBrokerUnreachable, ReasonTopicNotFound, ReasonSubscribeFailed}

// troubleOf is what keeps a pod from consuming, in the words of the application, the
// kubelet or the scheduler; empty if it only starts.
func troubleOf(pod *corev1.Pod) (reason, message string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
			return c.Reason, c.Message
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.Name != containerName || status.Ready {
			continue
		}
		if lostBroker(pod, status.State.Running) {
			return ReasonBrokerUnreachable, "The application lost its subscription; check that the broker runs and has the topic. It resubscribes by itself, or exits with the reason."
		}
		for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
			if ended := state.Terminated; ended != nil {
				reason, message, _ := strings.Cut(ended.Message, ": ")
				if slices.Contains(ofApplication, reason) {
					return reason, strings.TrimSpace(message)
				}
			}
		}
		if waiting := status.State.Waiting; waiting != nil {
			return steady(waiting, status.LastTerminationState.Terminated)
		}
	}
	return "", ""
}

// lostBroker reports whether a container that runs was ready before: the
// application ends where it cannot subscribe, and runs on where it loses the broker.
func lostBroker(pod *corev1.Pod, running *corev1.ContainerStateRunning) bool {
	return running != nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && c.LastTransitionTime.After(running.StartedAt.Time)
	})
}

// steady is what a waiting container says, in words that stay the same while the kubelet
// goes back and forth: each new one would be a write. Of an image that cannot be pulled, the
// message of one state has that of the other after its own.
func steady(waiting *corev1.ContainerStateWaiting, last *corev1.ContainerStateTerminated) (reason, message string) {
	switch waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return "", ""
	case "ErrImagePull", "ImagePullBackOff":
		_, cause, ok := strings.Cut(waiting.Message, "ErrImagePull: ")
		if !ok {
			cause = waiting.Message
		}
		return "ImagePullBackOff", cause
	case "CrashLoopBackOff":
		if last != nil {
			return waiting.Reason, fmt.Sprintf("The application terminated with exit code %d (%s); see kubectl logs --previous.", last.ExitCode, last.Reason)
		}
		return waiting.Reason, "The application exits repeatedly; see kubectl logs --previous."
	}
	return waiting.Reason, waiting.Message
}
