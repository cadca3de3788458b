package pod

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Explained reports whether something ends the pod as a whole, whatever runs in it: a
// deletion, a shutdown of its node, a preemption, its deadline. Otherwise a container that
// exits may do so because of an attach. Evictions by the kubelet are no explanation: the
// operator's files and agents use the storage and memory of pod and node.
//
// The kubelet sets status.reason only where it ends or rejects a pod, not where its
// containers have exited (Kubernetes 1.36.3, pkg/kubelet: Evicted, Preempting,
// Terminated, NodeShutdown, NodeAffinity, DeadlineExceeded, UnexpectedAdmissionError).
func Explained(pod *corev1.Pod) bool {
	switch {
	case pod.Status.Reason == evicted:
		return false
	case !pod.DeletionTimestamp.IsZero(), pod.Status.Reason != "":
		return true
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

const evicted = "Evicted"

// overLimit are parts of the kubelet's messages for a pod that exceeded a limit of its own
// (Kubernetes 1.36.3, pkg/kubelet/eviction: containerEphemeralStorageMessageFmt,
// podEphemeralStorageMessageFmt, emptyDirMessageFmt).
var overLimit = []string{
	"exceeded its local ephemeral storage limit", "Pod ephemeral local storage usage exceeds the total limit", "Usage of EmptyDir volume",
}

// UnderPressure reports whether the kubelet evicted the pod because its node lacked a
// resource, and not because the pod exceeded a limit of its own.
func UnderPressure(pod *corev1.Pod) bool {
	return pod.Status.Reason == evicted && !slices.ContainsFunc(overLimit, func(part string) bool { return strings.Contains(pod.Status.Message, part) })
}

// MayBeEnding reports whether a container has terminated and is not restarted yet, while
// the pod runs: the kubelet reports what ends a pod only after all its containers have
// terminated (Kubernetes 1.36.3, pkg/kubelet/status: mergePodStatus).
func MayBeEnding(pod *corev1.Pod, container string) bool {
	return pod.Status.Phase == corev1.PodRunning && slices.ContainsFunc(ContainerStatuses(pod), func(s corev1.ContainerStatus) bool {
		return s.Name == container && s.State.Terminated != nil
	})
}

// JobOf returns the UID of the Job of the pod; empty if it has none.
func JobOf(pod *corev1.Pod) types.UID {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" || !strings.HasPrefix(owner.APIVersion, "batch/") {
		return ""
	}
	return owner.UID
}

// Completed reports whether a container that terminated has done its work: it succeeded,
// and is not restarted after that. A wrapper that exits with 0 after a kill looks the same.
func Completed(pod *corev1.Pod, container string, t *corev1.ContainerStateTerminated) bool {
	policy, spec := pod.Spec.RestartPolicy, Named(pod, container)
	if spec != nil && spec.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*spec.RestartPolicy)
	}
	restarts := func(r corev1.ContainerRestartRule) bool {
		return r.Action == corev1.ContainerRestartRuleActionRestart && r.ExitCodes != nil &&
			slices.Contains(r.ExitCodes.Values, t.ExitCode) == (r.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
	}
	return t.ExitCode == 0 && policy != corev1.RestartPolicyAlways && (spec == nil || !slices.ContainsFunc(spec.RestartPolicyRules, restarts))
}

// Unseen reports whether the runtime does not know how a container terminated: the node
// was restarted, or lost it.
func Unseen(t *corev1.ContainerStateTerminated) bool {
	return t.Reason == "ContainerStatusUnknown" || t.Reason == "Unknown"
}

// RestartingResources returns a digest of the resources of a running container that
// cannot be resized without restarting it (resizePolicy); empty if there are none, or if
// the kubelet does not report any. The restart leaves no other trace: the condition
// PodResizeInProgress has ended when the new instance is reported (Kubernetes 1.36.3,
// pkg/kubelet: computePodResizeAction, IsPodResizeInProgress).
func RestartingResources(pod *corev1.Pod, container string) string {
	spec, all := Named(pod, container), ContainerStatuses(pod)
	i := slices.IndexFunc(all, func(s corev1.ContainerStatus) bool { return s.Name == container })
	if spec == nil || i < 0 || all[i].Resources == nil {
		return ""
	}
	var text strings.Builder
	for _, p := range spec.ResizePolicy {
		if p.RestartPolicy == corev1.RestartContainer {
			request, limit := all[i].Resources.Requests[p.ResourceName], all[i].Resources.Limits[p.ResourceName]
			fmt.Fprintf(&text, "%s %s %s\n", p.ResourceName, request.String(), limit.String())
		}
	}
	if text.Len() == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(sum[:])
}
