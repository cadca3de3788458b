package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// LongestJavaOptions is the length, in bytes, of the longest JDK_JAVA_OPTIONS that the
// policy of config/next-start makes longer. The kernel starts no process with a variable
// of 128 KiB (MAX_ARG_STRLEN).
const LongestJavaOptions = 32 << 10

// JavaOptions is how a container gets the variable JDK_JAVA_OPTIONS, by its spec alone.
type JavaOptions int

// The kinds of containers that the policy of config/next-start distinguishes.
const (
	// JavaOptionsUnset: the spec neither sets it nor has envFrom, so its value is the
	// image's, if that has one.
	JavaOptionsUnset JavaOptions = iota
	// JavaOptionsValue: the spec has a value, to which the policy adds.
	JavaOptionsValue
	// JavaOptionsDecided: variables, command or arguments name the flag itself.
	JavaOptionsDecided
	// JavaOptionsReference: the spec takes the value from elsewhere (valueFrom).
	JavaOptionsReference
	// JavaOptionsMayBeReference: the spec does not set it, but has envFrom.
	JavaOptionsMayBeReference
	// JavaOptionsUsed: the spec sets it twice, or uses it elsewhere.
	JavaOptionsUsed
	// JavaOptionsTooLong: its value has more than LongestJavaOptions bytes.
	JavaOptionsTooLong
)

// JavaOptionsOf returns how a container gets JDK_JAVA_OPTIONS. It is the same for a
// container that TrimJavaOptions has reduced.
func JavaOptionsOf(c *corev1.Container) JavaOptions {
	names := func(text string) bool {
		return strings.Contains(text, v1alpha1.JavaOptionsVariable)
	}
	decides := func(text string) bool {
		return strings.Contains(text, v1alpha1.FlagAllowAttach)
	}
	var texts []string
	var own []corev1.EnvVar
	for _, e := range c.Env {
		if e.Name == v1alpha1.JavaOptionsVariable {
			own = append(own, e)
		}
		texts = append(texts, e.Value)
	}
	texts = slices.Concat(texts, c.Command, c.Args)
	switch {
	case slices.ContainsFunc(texts, decides):
		return JavaOptionsDecided
	case slices.ContainsFunc(texts, names) || len(own) > 1:
		return JavaOptionsUsed
	case len(own) == 1 && own[0].ValueFrom != nil:
		return JavaOptionsReference
	case len(own) == 1 && len(own[0].Value) > LongestJavaOptions:
		return JavaOptionsTooLong
	case len(own) == 1:
		return JavaOptionsValue
	case len(c.EnvFrom) > 0:
		return JavaOptionsMayBeReference
	}
	return JavaOptionsUnset
}

// TrimJavaOptions returns the variables of a container without their contents, of which
// JavaOptionsOf is the same as of the container: for a cache, which keeps no values.
func TrimJavaOptions(c *corev1.Container) (env []corev1.EnvVar, from []corev1.EnvFromSource) {
	own := corev1.EnvVar{Name: v1alpha1.JavaOptionsVariable}
	switch JavaOptionsOf(c) {
	case JavaOptionsValue:
	case JavaOptionsDecided:
		own.Value = v1alpha1.FlagAllowAttach
	case JavaOptionsReference:
		own.ValueFrom = &corev1.EnvVarSource{}
	case JavaOptionsMayBeReference:
		return nil, []corev1.EnvFromSource{{}}
	case JavaOptionsUsed:
		own.Value = v1alpha1.JavaOptionsVariable
	case JavaOptionsTooLong:
		own.Value = tooLong
	case JavaOptionsUnset:
		return nil, nil
	}
	return []corev1.EnvVar{own}, nil
}

// tooLong stands for all values that are too long.
var tooLong = strings.Repeat("x", LongestJavaOptions+1)

// ImagePinned reports whether an image has a digest, or a tag other than latest: that it
// is not meant to be another one from one pod to the next.
func ImagePinned(image string) bool {
	if strings.Contains(image, "@") {
		return true
	}
	_, tag, tagged := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tagged && tag != "latest"
}

// Attachable returns the containers of a pod that may be attached to, sidecars last.
func Attachable(pod *corev1.Pod) []corev1.Container {
	return slices.Concat(pod.Spec.Containers, slices.DeleteFunc(slices.Clone(pod.Spec.InitContainers), func(c corev1.Container) bool { return !sidecar(c) }))
}
