package controller

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/internal/member"
)

// ended returns how a pod's container ended; nil if it has not.
func ended(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		return nil
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Terminated != nil {
			return status.State.Terminated
		}
	}
	return &corev1.ContainerStateTerminated{Reason: pod.Status.Reason, Message: pod.Status.Message}
}

// reasonEnded returns why a member ended, in its own words if it said some.
func reasonEnded(pod *corev1.Pod) (reason, message string) {
	state := ended(pod)
	if state == nil {
		return "", ""
	}
	reason, message = member.ReasonOf(state.Message)
	if reason == "" {
		return ReasonMemberEnded, fmt.Sprintf("terminated with exit code %d: %s", state.ExitCode, cmp.Or(state.Message, state.Reason))
	}
	return reason, message
}

// A member that ended is replaced at once if it lived for minUptime, so that one that was killed is
// soon back, and after replaceDelay or longer if it did not: after mendDelay where it does not come back
// unless a person helps it.
const (
	minUptime = time.Minute
	mendDelay = time.Minute
)

// endedYoung reports whether a container lived for less than minUptime, as PostgreSQL: what failed to
// get the data has not lived, however long that took.
func endedYoung(state *corev1.ContainerStateTerminated) bool {
	if state.FinishedAt.IsZero() {
		return false
	}
	switch reason, _ := member.ReasonOf(state.Message); reason {
	case member.SeedFailed, member.JoinFailed, member.RestoreFailed, member.DiskFull:
		return true
	}
	return state.FinishedAt.Sub(state.StartedAt.Time) < minUptime
}

// replaceable reports whether a member that ended is to be replaced now; delay is what its
// former replacements make it wait at least.
func replaceable(pod *corev1.Pod, now time.Time, delay time.Duration) bool {
	state := ended(pod)
	if state == nil || !endedYoung(state) {
		return state != nil
	}
	delay = max(delay, replaceDelay)
	switch reason, _ := reasonEnded(pod); reason {
	case member.DataForeign, member.DiskFull, member.Misconfigured:
		delay = max(delay, mendDelay)
	}
	return now.Sub(state.FinishedAt.Time) >= delay
}

// waiting returns why a container waits, in the kubelet's words. The states of an image that cannot
// be pulled alternate, and the message of the one has that of the other after its own: the status
// stays the same meanwhile.
func waiting(w *corev1.ContainerStateWaiting) string {
	const failed = "ErrImagePull"
	if _, cause, ok := strings.Cut(w.Message, ": "+failed+": "); ok {
		return failed + ": " + cause
	}
	return w.Reason + ": " + w.Message
}

// notReadyReason returns why a member does not answer.
func (c *cluster) notReadyReason(name string) (reason, message string) {
	if o := c.foreignTo(name); o != nil {
		taken := c.nameTaken(o)
		return taken.Reason, taken.Message
	}
	pod, claim := c.pods[name], c.claims[name]
	if pod == nil {
		return ReasonMemberStarting, fmt.Sprintf("The member %s has no pod yet.", name)
	}
	if why := c.diverged(name); why != "" {
		return ReasonDiverged, fmt.Sprintf("The data of the member %s diverged from the primary's: %s. It is copied again; what it had is kept once, as data.diverged on its claim.", name, why)
	}
	if c.servers[name] != nil && c.primary() != nil {
		return ReasonJoining, fmt.Sprintf("The member %s accepts connections, and does not stream from the primary yet.", name)
	}
	if reason, message := reasonEnded(pod); reason != "" {
		return reason, fmt.Sprintf("The member %s exited: %s", name, message)
	}
	if refused := c.refusals[name]; refused != nil {
		return ReasonSQLError, fmt.Sprintf("The member %s rejects the operator: %s", name, refused.Message)
	}
	for _, status := range pod.Status.ContainerStatuses {
		if w := status.State.Waiting; w != nil && w.Message != "" {
			return ReasonMemberWaiting, fmt.Sprintf("The member %s does not start: %s", name, waiting(w))
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			if claim != nil && claim.Status.Phase == corev1.ClaimPending {
				return ReasonVolumePending, fmt.Sprintf("The claim %s has no volume: %s", name, condition.Message)
			}
			return ReasonMemberWaiting, fmt.Sprintf("The member %s is not scheduled: %s", name, condition.Message)
		}
	}
	return ReasonMemberStarting, fmt.Sprintf("The member %s does not accept connections yet.", name)
}
