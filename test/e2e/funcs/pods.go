package funcs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pods are the pods with the label that are not about to go, by name.
func (c *cluster) pods(ctx context.Context, namespace, label string) ([]corev1.Pod, error) {
	var list corev1.PodList
	key, value, _ := strings.Cut(label, "=")
	if err := c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{key: value}); err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// lasting are the statuses of the containers that run as long as the pod: sidecars,
// which are among the init containers, too.
func lasting(pod *corev1.Pod) []corev1.ContainerStatus {
	statuses := slices.Clone(pod.Status.ContainerStatuses)
	for _, s := range pod.Status.InitContainerStatuses {
		if slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
			return c.Name == s.Name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}) {
			statuses = append(statuses, s)
		}
	}
	return statuses
}

// only is the one pod of the application.
func (c *cluster) only(ctx context.Context, namespace string) (*corev1.Pod, error) {
	pods, err := c.pods(ctx, namespace, label)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("%d pods are there, not one", len(pods))
	}
	return &pods[0], nil
}

// theOne waits for the one pod of the application.
func (c *cluster) theOne(ctx context.Context, t *testing.T, namespace string) *corev1.Pod {
	t.Helper()
	return answer(ctx, t, func(ctx context.Context) (*corev1.Pod, error) { return c.only(ctx, namespace) })
}

func (c *cluster) log(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
	data, err := c.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container}).DoRaw(ctx)
	return string(data), err
}

// previousLog are the last lines of what the instance before this one said.
func (c *cluster) previousLog(ctx context.Context, pod *corev1.Pod, container string, lines int64) (string, error) {
	options := &corev1.PodLogOptions{Container: container, Previous: true, TailLines: new(lines)}
	data, err := c.kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).DoRaw(ctx)
	return string(data), err
}

func restarts(pod corev1.Pod) int32 {
	var n int32
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}
