package pod

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Power is power over the node, or over what the cluster or the operator depends on. The
// operator attaches to a pod or container that has it only if a flag allows it.
type Power struct {
	// Flag of the operator, without dashes.
	Flag string
	// Words are the predicate of a sentence whose subject is the pod or the container that
	// has the power.
	Words string
	// OfContainer reports whether a container has the power, rather than its whole pod.
	OfContainer bool
	// List says what the flag lists; empty for a flag that allows all or nothing.
	List string

	// found returns what a pod or container has of the power, and nothing if it lacks it.
	found func(candidate) []string
	// parse checks a value that the flag lists, and returns its usual form.
	parse func(string) (string, error)
	// covers reports whether a value that the flag lists allows one that was found.
	covers func(listed, found string) bool
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
		{Flag: "allow-kube-system", Words: "is in namespace " + metav1.NamespaceSystem,
			found: one(func(c candidate) bool { return c.pod.Namespace == metav1.NamespaceSystem })},
		{Flag: "allow-own-namespace", Words: "is in the operator's own namespace",
			found: one(func(c candidate) bool { return c.ownNamespace != "" && c.pod.Namespace == c.ownNamespace })},
		{Flag: "allow-host-pid", Words: "shares the node's process IDs (hostPID)",
			found: one(func(c candidate) bool { return c.pod.Spec.HostPID })},
		{Flag: "allow-host-network", Words: "shares the node's network (hostNetwork)",
			found: one(func(c candidate) bool { return c.pod.Spec.HostNetwork })},
		{Flag: "allow-host-ipc", Words: "shares the node's shared memory (hostIPC)",
			found: one(func(c candidate) bool { return c.pod.Spec.HostIPC })},
		{Flag: "allow-privileged", Words: "is privileged", OfContainer: true,
			found: one(func(c candidate) bool {
				return c.container.SecurityContext != nil && ptr.Deref(c.container.SecurityContext.Privileged, false)
			})},
		{Flag: "allow-capabilities", Words: "has capabilities with power over the node", OfContainer: true,
			List:  "`capabilities`, or ALL",
			found: func(c candidate) []string { return powerfulCapabilities(c.container) },
			parse: parseCapability, covers: coversCapability},
		{Flag: "allow-host-paths", Words: "mounts hostPath volumes of the node's system", OfContainer: true,
			List:  "`paths`, which include what is below them",
			found: func(c candidate) []string { return systemPaths(c.pod, c.container) },
			parse: parsePath, covers: coversPath},
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

// Usage is the description of the power's flag.
func (p Power) Usage() string {
	usage := "allow attaching to a pod that " + p.Words
	if p.OfContainer {
		usage = "allow attaching to a container that " + p.Words
	}
	if p.List != "" {
		usage += ": these " + p.List + "; separated by commas or in repeated flags"
	}
	return usage
}

// describe returns what a message says of a power that is not allowed, and the flag that
// would allow it.
func (p Power) describe(found []string) (words, flag string) {
	if p.List == "" {
		return p.Words, "--" + p.Flag
	}
	return p.Words + " (" + strings.Join(found, ", ") + ")", "--" + p.Flag + "=" + strings.Join(found, ",")
}

// without returns what was found and no listed value covers.
func (p Power) without(listed, found []string) []string {
	return slices.DeleteFunc(found, func(f string) bool {
		return slices.ContainsFunc(listed, func(l string) bool { return p.covers(l, f) })
	})
}
