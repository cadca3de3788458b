package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// DoorPrefix is how the names of all doors begin.
const DoorPrefix = "jmx-exporter-door-"

const (
	// maxDoors bounds the doors of a pod: nobody can remove an ephemeral container from
	// its spec. The last one is kept for detaching.
	maxDoors = 8
	// maxFailedDoors is how many doors of one container instance may fail before no
	// further one is added.
	maxFailedDoors = 3
)

// stem is what the names of the doors of one container instance begin with, for the
// helpers that this operator has: who comes after a crash finds the door again.
func (d *Door) stem(in Container) string {
	sum := sha256.New()
	fmt.Fprint(sum, in.ID, " ", d.Image, " ", in.User)
	for _, machine := range []string{"x86_64", "aarch64"} {
		fmt.Fprint(sum, " ", d.exec.artifacts.Helpers[machine].SHA256)
	}
	return DoorPrefix + hex.EncodeToString(sum.Sum(nil)[:4]) + "-"
}

// IsDoor reports whether an ephemeral container is one of a Door, by its name.
func IsDoor(name string) bool { return strings.HasPrefix(name, DoorPrefix) }

// Doors are the names of the doors of a pod that have run, in their order: sorted, each
// once. A door that ends stays among them.
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

// DoorRuns reports whether a door of the pod runs.
func DoorRuns(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.EphemeralContainerStatuses, func(s corev1.ContainerStatus) bool {
		return IsDoor(s.Name) && s.State.Running != nil
	})
}

// doors are those of a pod, and of one container instance in it.
type doors struct {
	all  int
	own  []string // by their numbers
	stem string
	// statuses are those that the kubelet reports.
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
	n, _ := strconv.Atoi(strings.TrimPrefix(name, d.stem)) // somebody else's name is none of ours
	return n
}

// running is the door to use; empty when another one is to be added. One that is
// about to start is waited for.
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
		return "", &Error{Reason: waitingReason(state.Waiting.Reason), Message: fmt.Sprintf("Ephemeral container %s does not start: %s", last, said(state.Waiting.Reason, state.Waiting.Message))}
	}
	return "", errDoorPending
}

// next is the name of the door to add.
func (d doors) next(last bool) (string, error) {
	failed, why := 0, ""
	for _, name := range d.own {
		if t := d.statuses[name].Terminated; t != nil && t.ExitCode != 0 {
			failed++
			why = said(t.Reason, t.Message)
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

// said is what the kubelet says of a container that does not run.
func said(reason, message string) string {
	if message == "" {
		return reason + "."
	}
	return reason + ": " + text.Line(message, 300) + "."
}

// cannotStart reports whether the kubelet is backing off from starting a container
// (k8s.io/kubernetes pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime).
func cannotStart(reason string) bool {
	return reason != "" && reason != "ContainerCreating" && reason != "PodInitializing"
}

func waitingReason(reason string) string {
	if strings.Contains(reason, "Image") || reason == "RegistryUnavailable" || reason == "SignatureValidationFailed" {
		return v1alpha1.ReasonDoorImagePullFailed
	}
	return v1alpha1.ReasonDoorFailed
}
