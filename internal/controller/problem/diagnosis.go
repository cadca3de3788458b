package problem

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// startGrace is how long a pod may take to start, and how long a container that
// failed has to run before its trouble is over.
const startGrace = time.Minute

// The kubelet's reasons that more is made of than their words.
const (
	crashLoop           = "CrashLoopBackOff"
	imagePullBackOff    = "ImagePullBackOff"
	errImagePull        = "ErrImagePull"
	registryUnavailable = "RegistryUnavailable"
	signatureInvalid    = "SignatureValidationFailed"
	containerCreating   = "ContainerCreating"
	podInitializing     = "PodInitializing"
	runContainerError   = "RunContainerError"
	pending             = "Pending"
)

// diagnosis is the look at one pod.
type diagnosis struct {
	pod *corev1.Pod
	// before is what was said of the pod last; nil if it was well.
	before *v1alpha1.ProblemPod
	now    time.Time

	// again is when time alone may change the outcome; 0 for never.
	again time.Duration
	// logged reports whether the entry's container may have a log.
	logged bool
}

// entry says what keeps the pod from running; nil if nothing does.
func (d *diagnosis) entry() *v1alpha1.ProblemPod {
	switch d.pod.Status.Phase {
	case corev1.PodSucceeded:
		return nil
	case corev1.PodFailed:
		return d.failed()
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
	}
	if entry, unscheduled := d.unscheduled(); unscheduled {
		return entry
	}
	// The first in the spec's order: what comes later may only wait for it.
	for _, c := range containers(d.pod) {
		if c.status == nil {
			continue
		}
		if v := d.judge(c); v.reason != "" {
			return d.of(&c, v)
		}
	}
	return d.starting()
}

// failed: the pod's own reason, such as Evicted, says more than its containers'.
func (d *diagnosis) failed() *v1alpha1.ProblemPod {
	status := &d.pod.Status
	if status.Reason != "" {
		return d.of(nil, verdict{reason: status.Reason, message: status.Message})
	}
	for _, c := range containers(d.pod) {
		if c.status != nil && broke(c.status.State.Terminated) {
			v := ended(c.status.State.Terminated)
			v.outranked = "" // whatever loop it was in is over
			return d.of(&c, v)
		}
	}
	return d.of(nil, verdict{reason: string(corev1.PodFailed), message: status.Message})
}

// unscheduled is what the scheduler says; what is not Unschedulable, as a gate,
// may be meant to take a moment.
func (d *diagnosis) unscheduled() (*v1alpha1.ProblemPod, bool) {
	c := scheduled(d.pod)
	if c == nil || c.Status != corev1.ConditionFalse {
		return nil, false
	}
	if c.Reason != corev1.PodReasonUnschedulable && d.within(d.pod.CreationTimestamp.Time) {
		return nil, true
	}
	reason := c.Reason
	if reason == "" {
		reason = corev1.PodReasonUnschedulable
	}
	return d.of(nil, verdict{reason: reason, message: c.Message}), true
}

// starting: a pod that still starts is a problem when it takes long.
func (d *diagnosis) starting() *v1alpha1.ProblemPod {
	c, waits := startsWith(d.pod)
	since := d.pod.CreationTimestamp.Time
	if s := scheduled(d.pod); s != nil && s.LastTransitionTime.After(since) {
		since = s.LastTransitionTime.Time
	}
	switch {
	case c != nil:
		// After a reboot of the node they are created once more.
		if last := c.status.LastTerminationState.Terminated; last != nil && last.FinishedAt.After(since) {
			since = last.FinishedAt.Time
		}
	case d.pod.Status.Phase != corev1.PodPending || waits.reason == "":
		return nil
	}
	if d.within(since) {
		return nil
	}
	return d.of(c, waits)
}

// within reports whether the time to be patient since then is not over, and has
// the pod looked at again when it is.
func (d *diagnosis) within(since time.Time) bool {
	left := since.Add(startGrace).Sub(d.now)
	if left <= 0 {
		return false
	}
	d.again = enqueue.Earliest(d.again, left)
	return true
}

// of is the entry for what was found in a container, or of the pod if c is nil.
func (d *diagnosis) of(c *container, v verdict) *v1alpha1.ProblemPod {
	entry := &v1alpha1.ProblemPod{Pod: d.pod.Name, UID: d.pod.UID}
	if c != nil {
		entry.Container = c.name
		entry.RestartCount = c.status.RestartCount
		d.logged = c.status.ContainerID != ""
	}
	v.steady(d.before, entry)
	return entry
}

func scheduled(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c
		}
	}
	return nil
}
