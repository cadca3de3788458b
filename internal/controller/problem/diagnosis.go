package problem

import (
	"cmp"
	"slices"
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
	// before is what was said of the pod last; none if it was well.
	before []v1alpha1.ProblemPod
	now    time.Time

	// again is when time alone may change the outcome; 0 for never.
	again time.Duration
	// entries say what keeps the pod from running: the pod itself, or each container
	// that fails, in the order in which they start.
	entries []v1alpha1.ProblemPod
	// logged are the containers of the entries that may have a log.
	logged []string
}

// look finds what keeps the pod from running.
func (d *diagnosis) look() {
	switch d.pod.Status.Phase {
	case corev1.PodSucceeded:
		return
	case corev1.PodFailed:
		d.failed()
		return
	case corev1.PodPending, corev1.PodRunning, corev1.PodUnknown:
	}
	if d.unscheduled() {
		return
	}
	// What only waits for an init container that fails is no failure.
	for _, c := range containers(d.pod) {
		if c.status == nil {
			continue
		}
		if v := d.judge(c); v.reason != "" {
			d.add(&c, v)
		}
	}
	if len(d.entries) == 0 {
		d.starting()
	}
}

// failed: the pod's own reason, such as Evicted, says more than its containers'.
func (d *diagnosis) failed() {
	status := &d.pod.Status
	if status.Reason != "" {
		d.add(nil, verdict{reason: status.Reason, message: status.Message})
		return
	}
	for _, c := range containers(d.pod) {
		if c.status != nil && broke(c.status.State.Terminated) {
			v := ended(c.status.State.Terminated)
			v.outranked = "" // whatever loop it was in is over
			d.add(&c, v)
		}
	}
	if len(d.entries) == 0 {
		d.add(nil, verdict{reason: string(corev1.PodFailed), message: status.Message})
	}
}

// unscheduled reports whether the pod has no node yet, and adds what the scheduler
// says; what is not Unschedulable, as a gate, may be meant to take a moment.
func (d *diagnosis) unscheduled() bool {
	c := scheduled(d.pod)
	if c == nil || c.Status != corev1.ConditionFalse {
		return false
	}
	if c.Reason != corev1.PodReasonUnschedulable && d.within(d.pod.CreationTimestamp.Time) {
		return true
	}
	d.add(nil, verdict{reason: cmp.Or(c.Reason, corev1.PodReasonUnschedulable), message: c.Message})
	return true
}

// starting: a pod that still starts is a problem when it takes long.
func (d *diagnosis) starting() {
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
		return
	}
	if !d.within(since) {
		d.add(c, waits)
	}
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

// add adds what was found in a container, or of the pod if c is nil.
func (d *diagnosis) add(c *container, v verdict) {
	entry := v1alpha1.ProblemPod{Pod: d.pod.Name, UID: d.pod.UID}
	if c != nil {
		entry.Container = c.name
		entry.RestartCount = c.status.RestartCount
		if c.status.ContainerID != "" {
			d.logged = append(d.logged, c.name)
		}
	}
	v.steady(d.saidOf(entry.Container), &entry)
	d.entries = append(d.entries, entry)
}

// saidOf is what was said last of a container, or of the pod for the empty name; nil
// if nothing was.
func (d *diagnosis) saidOf(container string) *v1alpha1.ProblemPod {
	i := slices.IndexFunc(d.before, func(e v1alpha1.ProblemPod) bool { return e.Container == container })
	if i < 0 {
		return nil
	}
	return &d.before[i]
}

func scheduled(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c
		}
	}
	return nil
}
