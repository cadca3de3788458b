package jvm

import "fmt"

// Kind is the type of an Error. Its values are spelled as the reasons of
// package attach are, which hands them on.
type Kind string

const (
	// ProcessGone: no process has this PID and start time any more.
	ProcessGone Kind = "ProcessGone"
	// UserMismatch: the caller neither is nor can become the JVM's user.
	UserMismatch Kind = "UserMismatch"
	// UnsupportedJVM: not HotSpot, or one into which no agent can be loaded.
	UnsupportedJVM Kind = "UnsupportedJVM"
	// JVMStarting: the JVM does not catch SIGQUIT yet.
	JVMStarting Kind = "JVMStarting"
	// SignalsReduced: -Xrs, or whatever else takes signals away, and no attach
	// socket: SIGQUIT would kill.
	SignalsReduced Kind = "SignalsReduced"
	// OptionsUnknown: whether the JVM accepts attachers cannot be told, and no
	// attach socket says it: SIGQUIT could print all its stacks, or kill.
	OptionsUnknown Kind = "OptionsUnknown"
	// AttachDisabled: -XX:+DisableAttachMechanism.
	AttachDisabled Kind = "AttachDisabled"
	// AgentLoadingDisabled: -XX:-EnableDynamicAgentLoading (JEP 451).
	AgentLoadingDisabled Kind = "AgentLoadingDisabled"
	// MissingModule: the runtime has no java.instrument.
	MissingModule Kind = "MissingModule"
	// TmpNotWritable: the JVM cannot create its socket in /tmp.
	TmpNotWritable Kind = "TmpNotWritable"
	// AttachFailed: the JVM answered, but not as it should.
	AttachFailed Kind = "AttachFailed"
	// AttachTimeout: the JVM did not answer in time.
	AttachTimeout Kind = "AttachTimeout"
	// AgentFailed: agentmain threw; the JVM printed why on its own output.
	AgentFailed Kind = "AgentFailed"
)

// MountTmp is what helps where /tmp is missing, not writable, or open to others:
// whose volume it must be, and why.
const MountTmp = "Mount an emptyDir volume at /tmp in this container alone: what is in /tmp is loaded into the JVM."

// Error is a failure with its type and a sentence that a person can act on.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
