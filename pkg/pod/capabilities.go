package pod

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// allCapabilities is what Kubernetes and the operator's flag call all of them.
const allCapabilities = "ALL"

// OrdinaryCapabilities returns the capabilities that give no power over the node: those
// that the Pod Security Standard Baseline lets containers add, and some that applications
// need and that reach nothing outside their pod. Any other one is a power, also one that a
// later kernel has.
func OrdinaryCapabilities() []string {
	return []string{
		// Baseline, which are also the defaults of container runtimes.
		"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
		"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
		// The network of the pod.
		"NET_ADMIN", "NET_RAW",
		// Memory that is not swapped, priorities and limits: within the container's cgroup.
		"IPC_LOCK", "SYS_NICE", "SYS_RESOURCE",
		// Java's CRaC.
		"CHECKPOINT_RESTORE",
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
		name := capability(string(added))
		if !slices.Contains(OrdinaryCapabilities(), name) && !slices.Contains(powers, name) {
			powers = append(powers, name)
		}
	}
	return powers
}

// capability returns the name of a capability as Kubernetes writes it: container runtimes
// also accept others.
func capability(name string) string { return strings.TrimPrefix(strings.ToUpper(name), "CAP_") }

var capabilityName = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

func parseCapability(value string) (string, error) {
	name := capability(value)
	if !capabilityName.MatchString(name) {
		return "", fmt.Errorf("%q is not the name of a capability, such as SYS_PTRACE", value)
	}
	return name, nil
}

func coversCapability(listed, found string) bool { return listed == allCapabilities || listed == found }
