package power

import (
	"fmt"
	"slices"
	"strings"
)

// Power is power over the node, or over what the cluster or the operator depends on. Who has
// it is attached to only if a flag allows it.
type Power struct {
	// Flag without dashes.
	Flag string
	// Words are the predicate of a sentence whose subject is the pod or the container that
	// has the power.
	Words string
	// OfContainer reports whether a container has the power, rather than its whole pod.
	OfContainer bool
	// List says what the flag lists; empty for a flag that allows all or nothing.
	List string

	// parse checks a value that the flag lists, and returns its usual form.
	parse func(string) (string, error)
	// covers reports whether a value that the flag lists allows one that was found.
	covers func(listed, found string) bool
}

// The powers over the node, in the order of messages and documents.
var (
	HostPID     = Power{Flag: "allow-host-pid", Words: "shares the node's process IDs (hostPID)"}
	HostNetwork = Power{Flag: "allow-host-network", Words: "shares the node's network (hostNetwork)"}
	HostIPC     = Power{Flag: "allow-host-ipc", Words: "shares the node's shared memory (hostIPC)"}
	Privileged  = Power{Flag: "allow-privileged", Words: "is privileged", OfContainer: true}
	// Capabilities are those that OrdinaryCapabilities does not list.
	Capabilities = Power{Flag: "allow-capabilities", Words: "has capabilities with power over the node", OfContainer: true,
		List: "`capabilities`, or ALL", parse: parseCapability, covers: coversCapability}
	// HostPaths are those that Powerful reports.
	HostPaths = Power{Flag: "allow-host-paths", Words: "mounts hostPath volumes of the node's system", OfContainer: true,
		List: "`paths`, which include what is below them", parse: parsePath, covers: coversPath}
)

// OfNode returns the powers over the node.
func OfNode() []Power {
	return []Power{HostPID, HostNetwork, HostIPC, Privileged, Capabilities, HostPaths}
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

// Found is what somebody has of a power.
type Found struct {
	Power
	// Values are those that Power.List describes; for a power without a list, one of any
	// value.
	Values []string
}

// Refusal returns a sentence about those powers that are not allowed: that who, such as "the
// operator", does not attach to subject; empty if all are allowed, or none was found.
func (a Allowed) Refusal(subject, who string, found []Found) string {
	var all, flags []string
	for _, f := range found {
		if f.Values = a.without(f); len(f.Values) > 0 {
			words, flag := f.describe()
			all, flags = append(all, words), append(flags, flag)
		}
	}
	if len(flags) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s; %s does not attach to it. To allow that, start %s with %s.",
		subject, strings.Join(all, " and "), who, who, strings.Join(flags, " and "))
}

// maxValues limits the values in a message: a container may have any number.
const maxValues = 5

// describe returns what a message says of a power that is not allowed, and the flag that
// would allow it.
func (f Found) describe() (words, flag string) {
	if f.List == "" {
		return f.Words, "--" + f.Flag
	}
	named, more, others := f.Values, "", ""
	if len(named) > maxValues {
		named, more, others = named[:maxValues], fmt.Sprintf(" and %d more", len(f.Values)-maxValues), ",…"
	}
	return f.Words + " (" + strings.Join(named, ", ") + more + ")", "--" + f.Flag + "=" + strings.Join(named, ",") + others
}

// without returns what was found and is not allowed.
func (a Allowed) without(f Found) []string {
	listed, allowed := a[f.Flag]
	if f.List == "" && allowed {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.Values), func(found string) bool {
		return f.covers != nil && slices.ContainsFunc(listed, func(l string) bool { return f.covers(l, found) })
	})
}

// Allowed has the flags of powers that are set, each with what it lists. The zero value
// allows none, and takes no flag.
type Allowed map[string][]string
