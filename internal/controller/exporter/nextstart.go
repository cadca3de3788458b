package exporter

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Limits of status.atNextStart, as in its schema.
const (
	maxNextStarts        = 64
	maxNextStartImage    = 512
	maxNextStartsSkipped = 32
	maxNextStartMessage  = 512
)

// nextStart returns what is known of the containers to which spec.atNextStart applies; nil
// without it, and for nothing. The pods of one start show nothing of their images any more, once the policy has
// added the variable, so that what was known stays known until a JVM contradicts it.
func (f *fleet) nextStart() *v1alpha1.NextStartStatus {
	if f.exporter.Spec.AtNextStart == "" {
		return nil
	}
	var known []v1alpha1.NextStartContainer
	if before := f.exporter.Status.AtNextStart; before != nil {
		known = before.Containers
	}
	var fresh, wrong []v1alpha1.NextStartContainer
	var skips skips
	for _, m := range f.members {
		for _, start := range m.nextStarts(f.exporter) {
			container := v1alpha1.NextStartContainer{Name: start.Name, Image: start.Image}
			switch {
			case start.Contradicts:
				wrong = append(wrong, container)
			case start.Adds && len(start.Image) <= maxNextStartImage && !slices.Contains(fresh, container):
				fresh = append(fresh, container)
			}
			skips.add(start, m.pod.Name)
		}
	}
	status := &v1alpha1.NextStartStatus{Containers: f.nextStartContainers(known, fresh, wrong), Skipped: skips.list()}
	if len(status.Containers)+len(status.Skipped) == 0 {
		return nil // a server-side apply that empties an object makes it null, which the schema rejects
	}
	return status
}

// nextStarts is record.NextStarts of the member.
func (m member) nextStarts(exporter *v1alpha1.PrometheusJmxExporter) []record.NextStart {
	if m.attachment == nil {
		return nil
	}
	return record.NextStarts(m.pod, &m.attachment.Status, exporter.Spec.Containers)
}

// nextStartContainers returns the containers to list: the fresh ones that were not known, sorted,
// and the known ones in their order, so that the list is the same as long as nothing changes.
// Of too many, the last ones without a pod are dropped.
func (f *fleet) nextStartContainers(known, fresh, wrong []v1alpha1.NextStartContainer) []v1alpha1.NextStartContainer {
	isWrong := func(c v1alpha1.NextStartContainer) bool { return slices.Contains(wrong, c) }
	fresh = slices.DeleteFunc(fresh, isWrong)
	slices.SortFunc(fresh, func(a, b v1alpha1.NextStartContainer) int {
		return strings.Compare(a.Name+"\n"+a.Image, b.Name+"\n"+b.Image)
	})
	if len(fresh) >= maxNextStarts {
		return fresh[:maxNextStarts]
	}
	known = slices.DeleteFunc(slices.Clone(known), isWrong)
	all := slices.DeleteFunc(slices.Clone(fresh), func(c v1alpha1.NextStartContainer) bool { return slices.Contains(known, c) })
	all = append(all, known...)
	for i := len(all) - 1; len(all) > maxNextStarts && i >= 0; i-- {
		if !slices.Contains(fresh, all[i]) {
			all = slices.Delete(all, i, i+1)
		}
	}
	return all
}

// skips are the containers that are skipped, by pod name: those that the policy reads, and
// others.
type skips struct{ read, others []v1alpha1.NextStartSkipped }

// add adds a container that is skipped, unless the same is there: what a JVM shows is a fact
// about its image, the rest one about the pod's spec, which pods with other images share.
func (s *skips) add(start record.NextStart, in string) {
	if start.Reason == "" {
		return
	}
	skip := v1alpha1.NextStartSkipped{Name: start.Name, Reason: start.Reason}
	if start.Contradicts && len(start.Image) <= maxNextStartImage {
		skip.Image = start.Image
	}
	to := &s.others
	if slices.Contains(v1alpha1.NextStartNever(), start.Reason) {
		to = &s.read
	}
	same := func(other v1alpha1.NextStartSkipped) bool {
		return other.Name == skip.Name && other.Reason == skip.Reason && other.Image == skip.Image
	}
	if len(*to) == maxNextStartsSkipped || slices.ContainsFunc(*to, same) {
		return
	}
	skip.Pod = in
	skip.Message = text.Cut(fmt.Sprintf("Container %s in pod %s %s", start.Name, in, skippedBecause[start.Reason]), maxNextStartMessage)
	*to = append(*to, skip)
}

// list returns the containers to list: those that the policy reads, which so are not cut off.
func (s *skips) list() []v1alpha1.NextStartSkipped {
	all := slices.Concat(s.read, s.others)
	return all[:min(len(all), maxNextStartsSkipped)]
}

// skippedBecause is the end of each reason's message, whose subject is the container.
var skippedBecause = map[string]string{
	v1alpha1.ReasonSetFromReference:      "takes JDK_JAVA_OPTIONS from elsewhere (valueFrom). Add " + v1alpha1.OptionAllowAttach + " there, or set a value in the pod template.",
	v1alpha1.ReasonMayBeSetFromReference: "has envFrom, which may set JDK_JAVA_OPTIONS. Set the variable in env of the pod template; an empty value suffices if envFrom sets none.",
	v1alpha1.ReasonSetByImage:            "has a JVM with a JDK_JAVA_OPTIONS that the pod does not set: it comes from the image or its entrypoint, and a variable of the pod would replace it. Set the variable in the pod template, with the image's options.",
	v1alpha1.ReasonImageNotPinned:        "has an image without a tag, or with the tag latest, which may set JDK_JAVA_OPTIONS tomorrow. Name a tag or digest, or set the variable in the pod template; an empty value suffices.",
	v1alpha1.ReasonVariableUsed:          "sets JDK_JAVA_OPTIONS twice, or uses it in another variable, its command or its arguments. Add " + v1alpha1.OptionAllowAttach + " to the JVM's options in the pod template.",
	v1alpha1.ReasonValueTooLong:          "sets a JDK_JAVA_OPTIONS of more than 32 KiB. Move options to a file (@file), or add " + v1alpha1.OptionAllowAttach + " in the pod template.",
	v1alpha1.ReasonPodProtected:          "has power over its node, or is in kube-system, so the policy leaves it as it is, whatever the operator's flags allow. Add " + v1alpha1.OptionAllowAttach + " to the JVM's options in the pod template.",
	v1alpha1.ReasonVariableNotRead:       "has a JVM whose launcher does not read JDK_JAVA_OPTIONS: that of Java 8, which needs no option, or another one than java. Give the latter " + v1alpha1.OptionAllowAttach + " by its own means.",
	v1alpha1.ReasonLoadingDenied:         "has a JVM that was started with -XX:-EnableDynamicAgentLoading. To have it attached to, remove the option.",
}

// warnsLater reports whether a load into a JVM of the pod writes warning lines now, or after an
// upgrade of Java.
func (m member) warnsLater() bool { return len(m.warningLater()) > 0 }

// covered reports whether, after the next start, a load writes none: the policy is sure to give
// the option to each JVM that would.
func (m member) covered(exporter *v1alpha1.PrometheusJmxExporter) bool {
	starts := m.nextStarts(exporter)
	return !slices.ContainsFunc(m.warningLater(), func(p v1alpha1.JavaProcess) bool {
		return !slices.ContainsFunc(starts, func(s record.NextStart) bool { return s.Name == p.Container && gives(s, p) })
	})
}

// gives reports whether the policy gives the option to the successor of a JVM. Where it adds
// the variable, that is sure for this image only, and an upgrade brings another one. A value
// counts if the JVM was seen with it: an entrypoint may have removed the variable.
func gives(start record.NextStart, p v1alpha1.JavaProcess) bool {
	switch {
	case start.Reason != "":
		return false
	case start.Adds:
		return p.AgentLoading == v1alpha1.AgentLoadingWarns && len(start.Image) <= maxNextStartImage
	}
	return p.JavaOptions == v1alpha1.JavaOptionsSet
}

// warningLater returns the JVMs of warnsLater.
func (m member) warningLater() (all []v1alpha1.JavaProcess) {
	containers := pod.Attachable(m.pod)
	for _, p := range m.attachment.Status.Processes {
		warns := p.AgentLoading == v1alpha1.AgentLoadingWarns || p.AgentLoading == v1alpha1.AgentLoadingWarnsAfterUpgrade
		if warns && !p.Excluded && !p.Adopted && slices.ContainsFunc(containers, func(c corev1.Container) bool { return c.Name == p.Container }) {
			all = append(all, p)
		}
	}
	return all
}
