package helperapi

import "fmt"

// Error is a typed reason with a sentence that a person can act on.
type Error struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Errorf returns an Error whose message is formatted.
func Errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Reason is the type of an Error, in the form of a condition's reason.
type Reason string

const (
	// ReasonWrongPod: the helper runs in another pod than the one asked for.
	ReasonWrongPod Reason = "WrongPod"
	// ReasonProcessGone: no process has this PID and start time any more.
	ReasonProcessGone Reason = "ProcessGone"
	// ReasonStagingIncomplete: a staged file has not the size or digest announced.
	ReasonStagingIncomplete Reason = "StagingIncomplete"
	// ReasonAgentDirectoryNotTrusted: AgentDirectory is a link, or others may write to it.
	ReasonAgentDirectoryNotTrusted Reason = "AgentDirectoryNotTrusted"
	// ReasonTmpNotWritable: HotSpot cannot open its attach socket in /tmp.
	ReasonTmpNotWritable Reason = "TmpNotWritable"
	// ReasonTmpShared surfaces when another user may replace files in the JVM's
	// /tmp, and Request.AllowSharedTmp does not accept that.
	ReasonTmpShared Reason = "TmpShared"
	// ReasonForeignJar surfaces when the JVM has a jar open in the place of our
	// agent's that is not ours.
	ReasonForeignJar Reason = "ForeignJar"
	// ReasonNoSpace: the file system of AgentDirectory is full or its quota used up.
	ReasonNoSpace Reason = "NoSpace"
	// ReasonInsufficientMemory: the control group's limit leaves too little memory
	// for what was asked.
	ReasonInsufficientMemory Reason = "InsufficientMemory"
	// ReasonUserMismatch: the JVM runs as a user that the helper cannot become.
	ReasonUserMismatch Reason = "UserMismatch"
	// ReasonUnsupportedJVM: not HotSpot, or one into which no agent can be loaded.
	ReasonUnsupportedJVM Reason = "UnsupportedJVM"
	// ReasonJVMStarting: the JVM does not catch SIGQUIT yet.
	ReasonJVMStarting Reason = "JVMStarting"
	// ReasonSignalsReduced: the JVM does not catch SIGQUIT (-Xrs), and the attach
	// socket is gone.
	ReasonSignalsReduced Reason = "SignalsReduced"
	// ReasonOptionsUnknown: whether the JVM accepts attachers cannot be told.
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
	// ReasonAttachFailed: the JVM answered, but not as it should.
	ReasonAttachFailed Reason = "AttachFailed"
	// ReasonAttachTimeout: the JVM did not answer in time.
	ReasonAttachTimeout Reason = "AttachTimeout"
	// ReasonBusy: another helper holds the lock of this JVM.
	ReasonBusy Reason = "Busy"
	// ReasonStockExporter: the stock JMX exporter is in the JVM; ours is not
	// loaded beside it.
	ReasonStockExporter Reason = "StockExporter"
	// ReasonPortInUse: somebody else listens on the port, or no port is free.
	ReasonPortInUse Reason = "PortInUse"
	// ReasonConfigRejected: the agent cannot use the configuration.
	ReasonConfigRejected Reason = "ConfigRejected"
	// ReasonSecurityRejected surfaces when the agent cannot use the endpoint's security;
	// an endpoint that is served stays as it is.
	ReasonSecurityRejected Reason = "SecurityRejected"
	// ReasonRuleTooExpensive: the agent serves the configuration, and has switched
	// off a rule of it that takes too much of the application's CPU.
	ReasonRuleTooExpensive Reason = "RuleTooExpensive"
	// ReasonAgentFailed: the agent could not start for another reason.
	ReasonAgentFailed Reason = "AgentFailed"
	// ReasonAgentNotAnswering: our agent is in the JVM, but does not answer.
	ReasonAgentNotAnswering Reason = "AgentNotAnswering"
	// ReasonEndpointNotServing: the endpoint does not answer as it should.
	ReasonEndpointNotServing Reason = "EndpointNotServing"
	// ReasonBadRequest: the request cannot be understood; a bug of the caller.
	ReasonBadRequest Reason = "BadRequest"
)
