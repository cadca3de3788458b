package transport

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// DoorPrefix is the prefix of the names of all doors.
const DoorPrefix = "jmx-exporter-door-"

const (
	// maxDoors limits the doors of a pod, since nobody can remove an ephemeral container
	// from its spec. The last one is reserved for detaching.
	maxDoors = 8
	// maxFailedDoors is how many doors of one container instance may fail before the
	// operator stops adding them.
	maxFailedDoors = 3
)

// IsDoor reports whether the ephemeral container of that name is a door.
func IsDoor(name string) bool { return strings.HasPrefix(name, DoorPrefix) }

// Doors returns the names of the pod's doors that have started, sorted and without
// duplicates. It includes doors that have exited.
func Doors(pod *corev1.Pod) []string {
	var names []string
	for _, s := range pod.Status.EphemeralContainerStatuses {
		if IsDoor(s.Name) && s.State.Waiting == nil {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// DoorRuns reports whether a door of the pod is running.
func DoorRuns(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.EphemeralContainerStatuses, func(s corev1.ContainerStatus) bool {
		return IsDoor(s.Name) && s.State.Running != nil
	})
}

// doors holds the number of all doors of a pod, and the doors for one container instance.
type doors struct {
	all  int
	own  []string // sorted by number
	stem string
	// statuses holds the states that the kubelet reports, by name.
	statuses map[string]corev1.ContainerState
}

func doorsOf(pod *corev1.Pod, stem string) doors {
	d := doors{stem: stem, statuses: map[string]corev1.ContainerState{}}
	for _, c := range pod.Spec.EphemeralContainers {
		if !IsDoor(c.Name) {
			continue
		}
		d.all++
		if strings.HasPrefix(c.Name, stem) {
			d.own = append(d.own, c.Name)
		}
	}
	slices.SortFunc(d.own, func(a, b string) int { return d.number(a) - d.number(b) })
	for _, s := range pod.Status.EphemeralContainerStatuses {
		d.statuses[s.Name] = s.State
	}
	return d
}

func (d doors) number(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, d.stem)) // 0 for a name that is not the operator's
	return n
}

// running returns the name of the door to use, or "" if a new one has to be added. It
// fails with errDoorPending while a door is starting, and with the kubelet's message if
// it cannot start.
func (d doors) running() (string, error) {
	if len(d.own) == 0 {
		return "", nil
	}
	last := d.own[len(d.own)-1]
	state, reported := d.statuses[last]
	switch {
	case state.Running != nil:
		return last, nil
	case state.Terminated != nil:
		return "", nil
	case reported && state.Waiting != nil && cannotStart(state.Waiting.Reason):
		reason, message := waitingReason(state.Waiting.Reason), stateMessage(state.Waiting.Reason, state.Waiting.Message)
		if reason == v1alpha1.ReasonDoorImagePullFailed {
			message += " The node pulls the image with the pull secrets of this pod and its service account, not with the operator's."
		}
		return "", &Error{Reason: reason, Message: fmt.Sprintf("Ephemeral container %s does not start: %s", last, message)}
	}
	return "", errDoorPending
}

var errDoorPending = &Error{Reason: v1alpha1.ReasonDoorPending, Message: "The ephemeral container that the operator added is starting."}

// next returns the name of the door to add. last allows the last one of the pod.
func (d doors) next(last bool) (string, error) {
	failed, why := 0, ""
	for _, name := range d.own {
		if t := d.statuses[name].Terminated; t != nil && t.ExitCode != 0 {
			failed++
			why = stateMessage(t.Reason, t.Message)
		}
	}
	number := 1
	if len(d.own) > 0 {
		number = d.number(d.own[len(d.own)-1]) + 1
	}
	switch {
	case failed >= maxFailedDoors:
		return "", &Error{Reason: v1alpha1.ReasonDoorFailed, Message: fmt.Sprintf("%d ephemeral containers of the operator failed, the last one with: %s", failed, why)}
	case d.all >= maxDoors, d.all == maxDoors-1 && !last:
		return "", &Error{Reason: v1alpha1.ReasonDoorsExhausted, Message: fmt.Sprintf("The operator added %d ephemeral containers to the pod, which Kubernetes cannot remove: recreate the pod, or keep ephemeral containers running with --door-idle=0.", d.all)}
	}
	return d.stem + strconv.Itoa(number), nil
}

// stateMessage formats the kubelet's reason and message for a container that does not run.
func stateMessage(reason, message string) string {
	if message == "" {
		return reason + "."
	}
	return reason + ": " + text.Line(message, 300) + "."
}

// cannotStart reports whether a waiting container's reason shows that the kubelet is
// backing off from starting it (k8s.io/kubernetes pkg/kubelet/images/types.go and
// pkg/kubelet/kuberuntime).
func cannotStart(reason string) bool {
	return reason != "" && reason != "ContainerCreating" && reason != "PodInitializing"
}

func waitingReason(reason string) string {
	if strings.Contains(reason, "Image") || reason == "RegistryUnavailable" || reason == "SignatureValidationFailed" {
		return v1alpha1.ReasonDoorImagePullFailed
	}
	return v1alpha1.ReasonDoorFailed
}
