package pod

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// Power is power over the node, or over what the cluster or the operator depends on. The
// operator attaches to a pod or container that has it only if a flag allows it.
type Power struct {
	power.Power

	// found returns what a pod or container has of the power, and nothing if it lacks it.
	found func(candidate) []string
}

// candidate is what may have a power.
type candidate struct {
	ownNamespace string
	pod          *corev1.Pod
	container    *corev1.Container
}

// Powers returns the table of powers. Its order is that of messages and documents.
func Powers() []Power {
	return []Power{
		{power.Power{Flag: "allow-kube-system", Words: "is in namespace " + metav1.NamespaceSystem},
			one(func(c candidate) bool { return c.pod.Namespace == metav1.NamespaceSystem })},
		{power.Power{Flag: "allow-own-namespace", Words: "is in the operator's own namespace"},
			one(func(c candidate) bool { return c.ownNamespace != "" && c.pod.Namespace == c.ownNamespace })},
		{power.HostPID, one(func(c candidate) bool { return c.pod.Spec.HostPID })},
		{power.HostNetwork, one(func(c candidate) bool { return c.pod.Spec.HostNetwork })},
		{power.HostIPC, one(func(c candidate) bool { return c.pod.Spec.HostIPC })},
		{power.Privileged, one(func(c candidate) bool {
			return c.container.SecurityContext != nil && ptr.Deref(c.container.SecurityContext.Privileged, false)
		})},
		{power.Capabilities, func(c candidate) []string { return powerfulCapabilities(c.container) }},
		{power.HostPaths, func(c candidate) []string { return systemPaths(c.pod, c.container) }},
	}
}

// one returns the function that finds a power of which there is nothing to list.
func one(has func(candidate) bool) func(candidate) []string {
	return func(c candidate) []string {
		if has(c) {
			return []string{""}
		}
		return nil
	}
}

// powerfulCapabilities returns the capabilities of a container that are powers. What is
// dropped does not matter, because runtimes differ in what they do first.
func powerfulCapabilities(c *corev1.Container) []string {
	if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
		return nil
	}
	var powers []string
	for _, added := range c.SecurityContext.Capabilities.Add {
		name := power.Capability(string(added))
		if power.PowerfulCapability(name) && !slices.Contains(powers, name) {
			powers = append(powers, name)
		}
	}
	return powers
}

// systemPaths returns the paths of the node that a container mounts and that give power
// over it.
func systemPaths(pod *corev1.Pod, c *corev1.Container) []string {
	var found []string
	for _, m := range c.VolumeMounts {
		for _, v := range pod.Spec.Volumes {
			if v.Name != m.Name || v.HostPath == nil {
				continue
			}
			if mounted := path.Join("/", v.HostPath.Path, subPath(m)); power.Powerful(mounted, m.ReadOnly) {
				found = append(found, mounted)
			}
		}
	}
	return found
}
