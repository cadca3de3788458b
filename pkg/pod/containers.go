// Package pod has the facts about a pod that the operator decides by, read from the pod
// alone: what runs in it, what is mounted at /tmp, how much may be written there, what
// protects it, and who owns its annotations. It reads pods and changes none, except
// where a name says so.
package pod

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Container is one instance of a container: after a restart, the ID is another.
type Container struct{ Name, ID string }

// Running returns the running containers in the order of the spec, sidecars (restartable
// init containers) last.
func Running(pod *corev1.Pod) []Container {
	var running []Container
	add := func(specs []corev1.Container, statuses []corev1.ContainerStatus) {
		for _, spec := range specs {
			for _, status := range statuses {
				if status.Name == spec.Name && status.State.Running != nil && status.ContainerID != "" {
					running = append(running, Container{Name: status.Name, ID: status.ContainerID})
				}
			}
		}
	}
	add(pod.Spec.Containers, pod.Status.ContainerStatuses)
	add(pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
	return running
}

// ContainerStatuses returns the statuses of the pod's containers, init containers last.
func ContainerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
}

// Named returns the container or init container of a name; nil if the pod has none.
func Named(pod *corev1.Pod, name string) *corev1.Container {
	all := slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers)
	if i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
		return &all[i]
	}
	return nil
}

// sidecar reports whether an init container keeps running next to the others.
func sidecar(c corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// ReadySince returns the time when the pod became ready; zero if it is not ready.
func ReadySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// RunsWindows reports whether the pod declares Windows containers: by spec.os, or by the
// node selector that the scheduler needs otherwise. The helper is a Linux program, and
// no shell there runs it.
func RunsWindows(pod *corev1.Pod) bool {
	if pod.Spec.OS != nil {
		return pod.Spec.OS.Name == corev1.Windows
	}
	return pod.Spec.NodeSelector[corev1.LabelOSStable] == string(corev1.Windows)
}

// KubeletUID returns the UID under which the kubelet runs the pod, and which names its
// directories. For a static pod, the API server has a mirror pod with a different UID
// and an annotation with the kubelet's; only the kubelet sets it, and it never changes.
// A value that is not a UID would reach the container as a different request.
func KubeletUID(pod *corev1.Pod) types.UID {
	const longest = 64
	uid := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if uid == "" || len(uid) > longest || strings.Trim(uid, "0123456789abcdefABCDEF-") != "" {
		return pod.UID
	}
	return types.UID(uid)
}
