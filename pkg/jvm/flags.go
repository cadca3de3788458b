package jvm

// Flags are the options that decide whether and how a JVM can be attached to.
type Flags struct {
	// AttachDisabled: -XX:+DisableAttachMechanism. SIGQUIT would print all
	// stacks on the application's output.
	AttachDisabled bool
	// SignalsReduced: -Xrs, -XX:+ReduceSignalUsage. SIGQUIT would kill, but the
	// attach socket is there from the start.
	SignalsReduced bool
	// AgentLoading is what -XX:[+-]EnableDynamicAgentLoading says, if anything.
	// Unset, JDK 21 and later load agents and print a warning (JEP 451).
	AgentLoading Setting
}

// Setting is a flag that may be left alone.
type Setting int

// The values of a Setting.
const (
	Unset Setting = iota
	Off
	On
)

// parseFlags applies options in their order.
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
		}
	}
	return f
}
