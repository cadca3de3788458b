package problem

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// container is a container of a pod, with its status if the kubelet has reported one.
type container struct {
	name          string
	init, sidecar bool
	spec          *corev1.Container
	status        *corev1.ContainerStatus
}

// containers returns the containers of the pod in start order.
func containers(pod *corev1.Pod) []container {
	var all []container
	add := func(specs []corev1.Container, statuses []corev1.ContainerStatus, init bool) {
		for i := range specs {
			spec := &specs[i]
			c := container{name: spec.Name, init: init, spec: spec}
			c.sidecar = init && spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
			if i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == spec.Name }); i >= 0 {
				c.status = &statuses[i]
			}
			all = append(all, c)
		}
	}
	add(pod.Spec.InitContainers, pod.Status.InitContainerStatuses, true)
	add(pod.Spec.Containers, pod.Status.ContainerStatuses, false)
	return all
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

func waiting(w *corev1.ContainerStateWaiting, last *corev1.ContainerStateTerminated) verdict {
	switch w.Reason {
	case "", containerCreating, podInitializing:
		return verdict{}
	case crashLoop:
		// The kubelet's message contains the changing back-off time.
		v := ended(last)
		v.reason = crashLoop
		return v
	case errImagePull, registryUnavailable, signatureInvalid, imagePullBackOff:
		return verdict{reason: w.Reason, message: pullFailure(w.Message), outranked: imagePullBackOff}
	case runContainerError:
		return verdict{reason: w.Reason, message: w.Message, outranked: crashLoop}
	}
	return verdict{reason: w.Reason, message: w.Message}
}

// broke reports whether a container terminated with an error.
func broke(t *corev1.ContainerStateTerminated) bool { return t != nil && t.ExitCode != 0 }

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

// ended returns the same message whether the container has just terminated, waits to be
// restarted, or was restarted.
func ended(t *corev1.ContainerStateTerminated) verdict {
	if t == nil {
		return verdict{message: "The container restarts repeatedly."}
	}
	v := verdict{reason: cmp.Or(t.Reason, "Error"), outranked: crashLoop}
	v.message = fmt.Sprintf("The container terminated with exit code %d (%s).", t.ExitCode, v.reason)
	if RuntimeSays(t.Reason) && t.Message != "" {
		v.message = fmt.Sprintf("The container terminated with exit code %d (%s): %s", t.ExitCode, v.reason, t.Message)
	}
	return v
}

// RuntimeSays reports whether the termination message for this reason comes from the
// container runtime. For other reasons it comes from the application, or is the end of
// its log, and may contain secrets.
func RuntimeSays(reason string) bool {
	return slices.Contains([]string{"StartError", "ContainerCannotRun", "ContainerStatusUnknown"}, reason)
}

// startsWith returns the container that the start of the pod waits for, and why; nil if
// there is none, or if the kubelet has reported nothing yet.
func startsWith(pod *corev1.Pod) (*container, verdict) {
	all := containers(pod)
	if !slices.ContainsFunc(all, func(c container) bool { return c.status != nil }) {
		if pod.Spec.NodeName == "" {
			return nil, verdict{reason: pending, message: "The pod is not scheduled."}
		}
		return nil, verdict{reason: pending, message: "The kubelet has not reported the pod's status."}
	}
	for _, c := range all {
		if c.status == nil {
			continue
		}
		switch {
		case c.init && !c.sidecar && c.status.State.Running != nil:
			return &c, verdict{reason: podInitializing, message: "The init container is still running."}
		case c.status.State.Waiting != nil:
			return &c, verdict{reason: cmp.Or(c.status.State.Waiting.Reason, pending), message: "The container has been waiting to start for more than a minute; see kubectl describe pod."}
		}
	}
	return nil, verdict{}
}
