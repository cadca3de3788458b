package power

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// allCapabilities is what Kubernetes and the flag call all of them.
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

// capabilities are the names by number (capabilities(7), linux/capability.h).
var capabilities = [...]string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP", "LINUX_IMMUTABLE",
	"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE",
	"SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE",
	"AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF",
	"CHECKPOINT_RESTORE",
}

// PowerfulIn returns the names of the capabilities in a mask, as in proc_pid_status(5), that
// are powers. One that this table does not know is named after its number.
func PowerfulIn(mask uint64) (powers []string) {
	for n := range 64 {
		if mask&(1<<n) == 0 {
			continue
		}
		name := "CAPABILITY_" + strconv.Itoa(n)
		if n < len(capabilities) {
			name = capabilities[n]
		}
		if PowerfulCapability(name) {
			powers = append(powers, name)
		}
	}
	return powers
}

// PowerfulCapability reports whether a capability, by the name that Capability returns, is a
// power.
func PowerfulCapability(name string) bool { return !slices.Contains(OrdinaryCapabilities(), name) }

// Capability returns the name of a capability as Kubernetes writes it: container runtimes
// also accept others.
func Capability(name string) string { return strings.TrimPrefix(strings.ToUpper(name), "CAP_") }

func parseCapability(value string) (string, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	name := Capability(value)
	if strings.Trim(name, letters+"0123456789_") != "" || name == "" || !strings.Contains(letters, name[:1]) {
		return "", fmt.Errorf("%q is not the name of a capability, such as SYS_PTRACE", value)
	}
	return name, nil
}

func coversCapability(listed, found string) bool { return listed == allCapabilities || listed == found }
