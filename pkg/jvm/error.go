package jvm

import (
	"errors"
	"fmt"
)

// Kind classifies an Error. Its values are spelled like the reasons of package helperapi,
// which passes them on.
type Kind string

const (
	// ProcessGone: no process has this PID and start time anymore.
	ProcessGone Kind = "ProcessGone"
	// UserMismatch: the caller is not the JVM's user and cannot become it.
	UserMismatch Kind = "UserMismatch"
	// ProcessNotReadable: the process does not show what is in it, not even to its user.
	ProcessNotReadable Kind = "ProcessNotReadable"
	// UnsupportedJVM: not HotSpot, or a VM that cannot load agents.
	UnsupportedJVM Kind = "UnsupportedJVM"
	// JVMStarting: the JVM does not catch SIGQUIT yet.
	JVMStarting Kind = "JVMStarting"
	// SignalsReduced: SIGQUIT is not caught, because of -Xrs or another cause, and there
	// is no attach socket: SIGQUIT would kill the JVM.
	SignalsReduced Kind = "SignalsReduced"
	// OptionsUnknown: it cannot be determined whether the JVM accepts attachers, and
	// there is no attach socket to prove it: SIGQUIT could print all its stacks, or kill
	// it.
	OptionsUnknown Kind = "OptionsUnknown"
	// AttachDisabled: -XX:+DisableAttachMechanism.
	AttachDisabled Kind = "AttachDisabled"
	// AgentLoadingDisabled: -XX:-EnableDynamicAgentLoading (JEP 451).
	AgentLoadingDisabled Kind = "AgentLoadingDisabled"
	// MissingModule: the runtime lacks java.instrument.
	MissingModule Kind = "MissingModule"
	// TmpNotWritable: the JVM cannot create its socket in /tmp.
	TmpNotWritable Kind = "TmpNotWritable"
	// InsufficientThreads: the JVM's limits leave too few threads for the attach listener
	// and the agent.
	InsufficientThreads Kind = "InsufficientThreads"
	// AttachFailed: the JVM answered unexpectedly.
	AttachFailed Kind = "AttachFailed"
	// AttachTimeout: the JVM did not answer in time.
	AttachTimeout Kind = "AttachTimeout"
	// AgentFailed: agentmain threw an exception; the JVM printed it on its own output.
	AgentFailed Kind = "AgentFailed"
)

// MountTmp is the remedy where /tmp is missing, not writable, or writable by other users:
// which volume to mount, and why.
const MountTmp = "Mount an emptyDir volume at /tmp in this container alone: what is in /tmp is loaded into the JVM."

// Error is a failure with its Kind and an actionable message.
type Error struct {
	Kind    Kind
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// asError converts any error to an Error with a Kind.
func asError(err error) error {
	if typed, ok := errors.AsType[*Error](err); ok {
		return typed
	}
	return errorf(AttachFailed, "%v.", err)
}
