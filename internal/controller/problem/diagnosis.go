package problem

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// startGrace is how long a pod may take to start, and how long a failed container must
// run before its problem is over.
const startGrace = time.Minute

// diagnosis is the examination of one pod.
type diagnosis struct {
	pod *corev1.Pod
	// before has the previous entries of the pod; none if it had no problem.
	before []v1alpha1.ProblemPod
	now    time.Time

	// again is the time after which the result may change without an event; 0 for never.
	again time.Duration
	// entries are the problems of the pod itself, or of each failing container in start
	// order.
	entries []v1alpha1.ProblemPod
	// logged are the containers of the entries that may have a log.
	logged []string
}

// look finds the problems of the pod.
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
	// Containers that only wait for a failing init container are not failures.
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

// failed handles a failed pod: its own reason, such as Evicted, says more than its
// containers'.
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

// unscheduled reports whether the pod has no node yet, and adds the scheduler's message.
// Other reasons than Unschedulable, such as a scheduling gate, may be meant to take a
// while.
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

// starting handles a pod that is still starting, which is a problem if it takes long.
func (d *diagnosis) starting() {
	c, waits := startsWith(d.pod)
	since := d.pod.CreationTimestamp.Time
	if s := scheduled(d.pod); s != nil && s.LastTransitionTime.After(since) {
		since = s.LastTransitionTime.Time
	}
	switch {
	case c != nil:
		// After a reboot of the node, the containers are created again.
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

// within reports whether the grace period since then is not over, and schedules another
// check for its end.
func (d *diagnosis) within(since time.Time) bool {
	left := since.Add(startGrace).Sub(d.now)
	if left <= 0 {
		return false
	}
	d.again = enqueue.Earliest(d.again, left)
	return true
}

// add adds an entry for a container, or for the pod if c is nil.
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

// saidOf returns the previous entry of a container, or of the pod for the empty name;
// nil if there is none.
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

// judge returns what is wrong with the container: the zero verdict if nothing is, or if
// it just has not started yet.
func (d *diagnosis) judge(c container) verdict {
	state, last := c.status.State, c.status.LastTerminationState.Terminated
	before := d.saidOf(c.name)
	crashed := before != nil && before.Reason == crashLoop
	switch {
	case state.Waiting != nil:
		return waiting(state.Waiting, last)
	case state.Terminated != nil && d.backsOff(c):
		v := ended(state.Terminated)
		v.reason = crashLoop
		return v
	case broke(state.Terminated):
		return ended(state.Terminated)
	case state.Running != nil && last != nil && (broke(last) || crashed) && d.within(state.Running.StartedAt.Time):
		// Restarted just now: it is open whether it will run this time.
		return ended(last)
	}
	return verdict{}
}

// backsOff reports whether the kubelet waits before it restarts a terminated container:
// it does each time but the first, until an instance has run for ten minutes. The status
// need not show the wait: the kubelet may leave the container terminated until the
// back-off is over (Kubernetes 1.36.3, pkg/kubelet: doBackOff, completeWork,
// HasExpiredFunc).
func (d *diagnosis) backsOff(c container) bool {
	const forgiven = 10 * time.Minute
	t := c.status.State.Terminated
	started := t.StartedAt.Unix() > 0 // the time of what could not be started is the epoch
	ran := started && t.FinishedAt.Sub(t.StartedAt.Time) > forgiven
	return c.status.RestartCount > 0 && c.restarts(d.pod, t.ExitCode) && !ran
}
