package jvm

import "strings"

// Flags are the options that determine whether and how a JVM can be attached to.
type Flags struct {
	// AttachDisabled is -XX:+DisableAttachMechanism: SIGQUIT would print all stacks on
	// the application's output.
	AttachDisabled bool
	// SignalsReduced is -Xrs or -XX:+ReduceSignalUsage: SIGQUIT would kill the JVM, but
	// it opens the attach socket at its start.
	SignalsReduced bool
	// AgentLoading is the setting of -XX:[+-]EnableDynamicAgentLoading. If it is unset,
	// JDK 21 and later load agents with a warning (JEP 451).
	AgentLoading Setting
	// OnOutOfMemory is the last option by which the JVM reacts to an OutOfMemoryError;
	// empty if there is none.
	OnOutOfMemory string
	// Epsilon is -XX:+UseEpsilonGC: garbage is never collected.
	Epsilon bool
}

// Setting is a boolean flag that may be unset.
type Setting int

// The values of a Setting.
const (
	Unset Setting = iota
	Off
	On
)

// parseFlags applies options in order.
func parseFlags(options []string) Flags {
	var f Flags
	for _, option := range options {
		switch option {
		case "-Xrs", "-XX:+ReduceSignalUsage":
			f.SignalsReduced = true
		case "-XX:-ReduceSignalUsage":
			f.SignalsReduced = false
		case "-XX:+DisableAttachMechanism":
			f.AttachDisabled = true
		case "-XX:-DisableAttachMechanism":
			f.AttachDisabled = false
		case "-XX:+EnableDynamicAgentLoading":
			f.AgentLoading = On
		case "-XX:-EnableDynamicAgentLoading":
			f.AgentLoading = Off
		case "-XX:+UseEpsilonGC":
			f.Epsilon = true
		case "-XX:-UseEpsilonGC":
			f.Epsilon = false
		}
	}
	f.OnOutOfMemory = onOutOfMemory(options)
	return f
}

// onOutOfMemory returns the last option by which a JVM reacts to an OutOfMemoryError.
func onOutOfMemory(options []string) (found string) {
	on := map[string]bool{}
	for _, option := range options {
		name, _, isCommand := strings.Cut(strings.TrimPrefix(option, "-XX:"), "=")
		switch {
		case isCommand && name == "OnOutOfMemoryError":
			found = "-XX:OnOutOfMemoryError"
		case strings.HasPrefix(option, "-agent") && strings.Contains(option, "jvmkill"): // ends the JVM (JVMTI ResourceExhausted)
			found = "the agent jvmkill"
		case reactions[strings.TrimLeft(name, "+-")]:
			on[strings.TrimLeft(name, "+-")] = name[0] == '+'
		}
	}
	for _, name := range []string{"HeapDumpOnOutOfMemoryError", "CrashOnOutOfMemoryError", "ExitOnOutOfMemoryError"} {
		if on[name] {
			found = "-XX:+" + name
		}
	}
	return found
}

var reactions = map[string]bool{"HeapDumpOnOutOfMemoryError": true, "CrashOnOutOfMemoryError": true, "ExitOnOutOfMemoryError": true}
