package helperapi

import "fmt"

// Error is a failure with a Reason and an actionable message.
type Error struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
	// Unsettled reports whether a refusal says nothing about what it refuses: what decides it
	// could not be determined, and may be at another time.
	Unsettled bool `json:"unsettled,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an Error with a formatted message.
func Errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Reason classifies an Error, in the form of a condition's reason.
type Reason string

const (
	// ReasonWrongPod: the helper runs in another pod than requested.
	ReasonWrongPod Reason = "WrongPod"
	// ReasonProcessGone: no process has this PID and start time anymore.
	ReasonProcessGone Reason = "ProcessGone"
	// ReasonStagingIncomplete: a staged file does not have the announced size or digest.
	ReasonStagingIncomplete Reason = "StagingIncomplete"
	// ReasonAgentDirectoryNotTrusted: AgentDirectory is a link, or others may write to
	// it.
	ReasonAgentDirectoryNotTrusted Reason = "AgentDirectoryNotTrusted"
	// ReasonTmpNotWritable: HotSpot cannot open its attach socket in /tmp.
	ReasonTmpNotWritable Reason = "TmpNotWritable"
	// ReasonTmpShared surfaces when another user may replace files in the JVM's
	// /tmp, and Request.AllowSharedTmp does not accept that.
	ReasonTmpShared Reason = "TmpShared"
	// ReasonForeignJar surfaces when the JVM has a foreign jar open under the name of our
	// agent's.
	ReasonForeignJar Reason = "ForeignJar"
	// ReasonNoSpace: the file system of AgentDirectory is full, or its quota is used up.
	ReasonNoSpace Reason = "NoSpace"
	// ReasonInsufficientMemory: the control group's limit leaves too little memory for
	// the operation.
	ReasonInsufficientMemory Reason = "InsufficientMemory"
	// ReasonInsufficientThreads: limits leave the JVM too few threads for an attach.
	ReasonInsufficientThreads Reason = "InsufficientThreads"
	// ReasonInsufficientHeap: an option of the JVM reacts to an OutOfMemoryError, and too
	// little of its heap is free for a load.
	ReasonInsufficientHeap Reason = "InsufficientHeap"
	// ReasonInsufficientMetaspace: too little of the JVM's metaspace, compressed class
	// space or code cache is free for the agent's classes.
	ReasonInsufficientMetaspace Reason = "InsufficientMetaspace"
	// ReasonUserMismatch: the JVM runs as a user that the helper cannot become.
	ReasonUserMismatch Reason = "UserMismatch"
	// ReasonProcessNotReadable: the process does not show what is in it, not even to its
	// user.
	ReasonProcessNotReadable Reason = "ProcessNotReadable"
	// ReasonUnsupportedJVM: not HotSpot, or a VM that cannot load agents.
	ReasonUnsupportedJVM Reason = "UnsupportedJVM"
	// ReasonJVMStarting: the JVM does not catch SIGQUIT yet.
	ReasonJVMStarting Reason = "JVMStarting"
	// ReasonSignalsReduced: the JVM does not catch SIGQUIT (-Xrs), and the attach
	// socket is gone.
	ReasonSignalsReduced Reason = "SignalsReduced"
	// ReasonOptionsUnknown: it cannot be determined whether the JVM accepts attachers.
	ReasonOptionsUnknown Reason = "OptionsUnknown"
	// ReasonAttachDisabled: -XX:+DisableAttachMechanism.
	ReasonAttachDisabled Reason = "AttachDisabled"
	// ReasonAgentLoadingDisabled: -XX:-EnableDynamicAgentLoading (JEP 451).
	ReasonAgentLoadingDisabled Reason = "AgentLoadingDisabled"
	// ReasonAgentLoadingWarns: a load makes the JVM print the warning of JEP 451, and
	// Request.RefuseOnWarning does not accept that.
	ReasonAgentLoadingWarns Reason = "AgentLoadingWarns"
	// ReasonMissingModule: the runtime lacks a module that the agent needs.
	ReasonMissingModule Reason = "MissingModule"
	// ReasonAttachFailed: the JVM answered unexpectedly.
	ReasonAttachFailed Reason = "AttachFailed"
	// ReasonAttachTimeout: the JVM did not answer in time.
	ReasonAttachTimeout Reason = "AttachTimeout"
	// ReasonBusy: another helper holds the lock of this JVM.
	ReasonBusy Reason = "Busy"
	// ReasonStockExporter: the stock exporter is in the JVM; our agent is not loaded
	// beside it.
	ReasonStockExporter Reason = "StockExporter"
	// ReasonPortInUse: another process listens on the port, or no port is free.
	ReasonPortInUse Reason = "PortInUse"
	// ReasonConfigRejected: the agent cannot use the configuration.
	ReasonConfigRejected Reason = "ConfigRejected"
	// ReasonSecurityRejected surfaces when the agent cannot use the endpoint's security
	// configuration; an endpoint that is being served is unchanged.
	ReasonSecurityRejected Reason = "SecurityRejected"
	// ReasonCollectionTooLarge: a collection would leave the application too little heap.
	// The agent serves the configuration before it, or nothing if there is none.
	ReasonCollectionTooLarge Reason = "CollectionTooLarge"
	// ReasonRuleTooExpensive: the agent serves the configuration, but has disabled a rule
	// that uses too much of the application's CPU.
	ReasonRuleTooExpensive Reason = "RuleTooExpensive"
	// ReasonAgentFailed: the agent could not start for another reason.
	ReasonAgentFailed Reason = "AgentFailed"
	// ReasonAgentNotAnswering: our agent is in the JVM, but does not answer.
	ReasonAgentNotAnswering Reason = "AgentNotAnswering"
	// ReasonEndpointNotServing: the endpoint does not answer as expected.
	ReasonEndpointNotServing Reason = "EndpointNotServing"
	// ReasonNodeAgentRefused surfaces when a node agent does not serve a container: it is of
	// the agent's own pod, or has power over the node that the agent's flags do not allow.
	ReasonNodeAgentRefused Reason = "NodeAgentRefused"
	// ReasonBadRequest: the request is invalid; this is a bug of the caller.
	ReasonBadRequest Reason = "BadRequest"
)

// agentReason returns a reason that an agent may report; others, such as a newer agent's,
// become ReasonAgentFailed and keep their message.
func agentReason(reason string) Reason {
	switch r := Reason(reason); r {
	case ReasonPortInUse, ReasonConfigRejected, ReasonRuleTooExpensive, ReasonCollectionTooLarge, ReasonMissingModule, ReasonSecurityRejected, ReasonAgentFailed:
		return r
	default:
		return ReasonAgentFailed
	}
}
