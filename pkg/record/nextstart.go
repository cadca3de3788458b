package record

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// NextStart is what the policy of config/next-start does to the successor of a container
// with a JVM, with the same spec.
type NextStart struct {
	// Name and Image are those of the container.
	Name, Image string
	// Reason is why it does nothing; empty if it does.
	Reason string
	// Adds reports whether it adds the variable, since the image was seen to set none. For
	// a container with a value of its own, Reason and Adds are empty.
	Adds bool
	// Contradicts reports whether a JVM shows that the variable must not be added to a
	// container of this name and image, whatever was seen before.
	Contradicts bool
}

// NextStarts returns what the policy does to the containers of a pod in which JVMs were found
// to which it applies, in the order of the pod; nothing for those of which not enough is known,
// or which have the option. containers is spec.containers of the exporter.
func NextStarts(in *corev1.Pod, status *v1alpha1.JmxAttachmentStatus, containers []v1alpha1.ContainerName) []NextStart {
	var all []NextStart
	for _, c := range pod.Attachable(in) {
		var jvms []v1alpha1.JavaProcess
		for _, p := range status.Processes {
			if p.Container == c.Name && !p.Excluded && !p.Adopted {
				jvms = append(jvms, p)
			}
		}
		if len(jvms) == 0 || len(containers) > 0 && !slices.Contains(containers, v1alpha1.ContainerName(c.Name)) {
			continue
		}
		start := nextStart(&c, jvms)
		if start != nil && !start.Contradicts && protectedAtNextStart(in, c.Name) {
			start = &NextStart{Reason: v1alpha1.ReasonPodProtected}
		}
		if _, mirror := in.Annotations[corev1.MirrorPodAnnotationKey]; mirror && start != nil && !start.Contradicts {
			start = nil // the kubelet starts the next one, from its file
		}
		if start != nil {
			start.Name, start.Image = c.Name, c.Image
			all = append(all, *start)
		}
	}
	return all
}

// protectedAtNextStart reports whether the policy leaves a container alone since it has power
// over its node: of the pod as it is created, which no ephemeral container has joined yet, and
// whatever the operator's flags allow, which the policy does not know.
func protectedAtNextStart(in *corev1.Pod, container string) bool {
	created := &corev1.Pod{ObjectMeta: in.ObjectMeta, Spec: in.Spec}
	created.Spec.EphemeralContainers = nil
	return pod.Protection{}.Container(created, container) != ""
}

// nextStart is NextStarts of one container with these JVMs.
func nextStart(c *corev1.Container, jvms []v1alpha1.JavaProcess) *NextStart {
	some := func(has func(v1alpha1.JavaProcess) bool) bool { return slices.ContainsFunc(jvms, has) }
	options := func(is v1alpha1.JavaOptions) func(v1alpha1.JavaProcess) bool {
		return func(p v1alpha1.JavaProcess) bool { return p.JavaOptions == is }
	}
	kind := pod.JavaOptionsOf(c)
	switch {
	case some(func(p v1alpha1.JavaProcess) bool { return p.AgentLoading == v1alpha1.AgentLoadingDenied }):
		return &NextStart{Reason: v1alpha1.ReasonLoadingDenied, Contradicts: true}
	case kind == pod.JavaOptionsDecided:
		return nil
	case some(options(v1alpha1.JavaOptionsIgnored)):
		return &NextStart{Reason: v1alpha1.ReasonVariableNotRead, Contradicts: true}
	case kind == pod.JavaOptionsValue:
		return &NextStart{}
	case kind != pod.JavaOptionsUnset:
		return &NextStart{Reason: reasonOf[kind]}
	case some(options(v1alpha1.JavaOptionsSet)):
		return &NextStart{Reason: v1alpha1.ReasonSetByImage, Contradicts: true}
	case some(options("")):
		return nil
	case !pod.ImagePinned(c.Image):
		return &NextStart{Reason: v1alpha1.ReasonImageNotPinned}
	}
	return &NextStart{Adds: true}
}

// reasonOf are the reasons that the spec of a container has.
var reasonOf = map[pod.JavaOptions]string{
	pod.JavaOptionsReference:      v1alpha1.ReasonSetFromReference,
	pod.JavaOptionsMayBeReference: v1alpha1.ReasonMayBeSetFromReference,
	pod.JavaOptionsUsed:           v1alpha1.ReasonVariableUsed,
	pod.JavaOptionsTooLong:        v1alpha1.ReasonValueTooLong,
}
