package problem

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// restarts reports whether the kubelet restarts the container after this exit code: the
// first matching rule decides, then the container's own policy, then the pod's
// (KEP-5307; Kubernetes 1.36.3, pkg/api/v1/pod: ContainerShouldRestart). An init
// container that succeeded is done.
func (c container) restarts(pod *corev1.Pod, exitCode int32) bool {
	policy := pod.Spec.RestartPolicy
	if own := c.spec.RestartPolicy; own != nil {
		if slices.ContainsFunc(c.spec.RestartPolicyRules, func(r corev1.ContainerRestartRule) bool { return matches(r, exitCode) }) {
			return true
		}
		policy = corev1.RestartPolicy(*own)
	}
	switch {
	case policy == corev1.RestartPolicyNever:
		return false
	case policy == corev1.RestartPolicyOnFailure || c.init && !c.sidecar:
		return exitCode != 0
	}
	return true
}

// matches reports whether a rule applies to the exit code. The only action of a rule is
// a restart, of the container or of all of them.
func matches(rule corev1.ContainerRestartRule, exitCode int32) bool {
	codes := rule.ExitCodes
	return codes != nil && slices.Contains(codes.Values, exitCode) == (codes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}
