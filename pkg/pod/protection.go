package pod

import (
	"flag"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// Protection is what the operator does not attach to, whatever an exporter selects: the
// powers that its flags do not allow. The zero value allows none.
type Protection struct {
	// OwnNamespace is the operator's own namespace; empty outside a cluster.
	OwnNamespace string
	// Allowed has the flags that are set, each with what it lists.
	Allowed power.Allowed
}

// BindFlags defines the flag of each power.
func (p *Protection) BindFlags(flags *flag.FlagSet) {
	for _, known := range Powers() {
		p.Allowed.BindFlags(flags, known.Power)
	}
}

// Pod returns why the operator does not attach to a pod, as a sentence; empty if it may.
func (p Protection) Pod(pod *corev1.Pod) string {
	return p.refusal("The pod", candidate{ownNamespace: p.OwnNamespace, pod: pod})
}

// Container returns why the operator does not attach to a container, as a sentence; empty
// if it may. Each container is judged separately, because an exec has the powers of its own
// container and none of others in the same pod, unless these share their process IDs: then
// each reaches the files and the memory of the others. The operator's own ephemeral containers
// have no power that their target lacks (pkg/transport), so they need no exception.
func (p Protection) Container(pod *corev1.Pod, name string) string {
	if refused := p.Pod(pod); refused != "" {
		return refused
	}
	c := Named(pod, name)
	if c == nil {
		return ""
	}
	if refused := p.refusal("The container", candidate{pod: pod, container: c}); refused != "" {
		return refused
	}
	for _, other := range sharingProcesses(pod, name) {
		if refused := p.refusal("The container shares its process IDs ("+other.how+", which", candidate{pod: pod, container: &other.Container}); refused != "" {
			return refused + other.until
		}
	}
	return ""
}

// refusal returns a sentence about the powers of a candidate that are not allowed.
func (p Protection) refusal(subject string, c candidate) string {
	var found []power.Found
	for _, known := range Powers() {
		if known.OfContainer == (c.container != nil) {
			found = append(found, power.Found{Power: known.Power, Values: known.found(c)})
		}
	}
	return p.Allowed.Refusal(subject, "the operator", found)
}

// sharing is a container that shares process IDs with another one.
type sharing struct {
	corev1.Container
	// how says by which field of the pod it shares them, and what it is.
	how string
	// until is a sentence that says for how long; empty for always.
	until string
}

// sharingProcesses returns the containers that share their process IDs with a container of the
// pod. Init containers that do not run have terminated, or will have before the others start.
func sharingProcesses(pod *corev1.Pod, name string) []sharing {
	var all []sharing
	shared := ptr.Deref(pod.Spec.ShareProcessNamespace, false)
	if shared {
		for _, c := range pod.Spec.Containers {
			all = append(all, sharing{Container: c, how: "shareProcessNamespace) with container " + c.Name})
		}
		for _, c := range pod.Spec.InitContainers {
			if sidecar(c) || slices.ContainsFunc(Running(pod), func(r Container) bool { return r.Name == c.Name }) {
				all = append(all, sharing{Container: c, how: "shareProcessNamespace) with container " + c.Name})
			}
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		how := "targetContainerName"
		if shared {
			how = "shareProcessNamespace"
		}
		if (shared || c.TargetContainerName == name) && runs(pod, c.Name) {
			all = append(all, sharing{withoutPtrace(c), how + ") with ephemeral container " + c.Name, " It attaches when the ephemeral container has ended."})
		}
	}
	return all
}

// runs reports whether an ephemeral container runs. One that cannot start stays in the pod for ever.
func runs(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Status.EphemeralContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == name && s.State.Running != nil
	})
}

// withoutPtrace returns an ephemeral container without SYS_PTRACE, which kubectl debug adds by default
// (k8s.io/kubectl pkg/cmd/debug/profiles.go): it reaches only the processes that it debugs.
func withoutPtrace(c corev1.EphemeralContainer) corev1.Container {
	container := corev1.Container(*c.EphemeralContainerCommon.DeepCopy())
	if s := container.SecurityContext; s != nil && s.Capabilities != nil {
		s.Capabilities.Add = slices.DeleteFunc(s.Capabilities.Add, func(added corev1.Capability) bool { return power.Capability(string(added)) == "SYS_PTRACE" })
	}
	return container
}
