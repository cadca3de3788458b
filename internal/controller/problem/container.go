package problem

import (
	"cmp"
	"fmt"
	"slices"

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
