package v1alpha1

// Reasons of conditions that hold.
const (
	// ReasonReached: the phase has been reached.
	ReasonReached = "Reached"
	// ReasonAdopted: the stock exporter is in every JVM, and left as it is.
	ReasonAdopted = "Adopted"
	// ReasonValid: the configuration was read and accepted.
	ReasonValid = "Valid"
	// ReasonAllAnnotated: every matched pod is Annotated.
	ReasonAllAnnotated = "AllAnnotated"
)

// Reasons of conditions that do not hold and need nobody: the operator goes on
// by itself, at the next event or after a while.
const (
	// ReasonNotReached: an earlier phase is not there yet.
	ReasonNotReached = "NotReached"
	// ReasonProgressing: pods are on their way.
	ReasonProgressing = "Progressing"
	// ReasonSettled: nothing is left to do.
	ReasonSettled = "Settled"
	// ReasonNoPodsMatched: no running pod has the labels.
	ReasonNoPodsMatched = "NoPodsMatched"
	// ReasonContainerNotRunning: no container of the pod runs at the moment.
	ReasonContainerNotRunning = "ContainerNotRunning"
	// ReasonReplaced: the container or the JVM is another one than recorded.
	ReasonReplaced = "Replaced"
	// ReasonConfigChanged: the staged files are no longer those wanted.
	ReasonConfigChanged = "ConfigChanged"
	// ReasonAgentChanged: the agent does not serve what is wanted any more.
	ReasonAgentChanged = "AgentChanged"
	// ReasonEndpointLost: the endpoint is no longer in an EndpointSlice.
	ReasonEndpointLost = "EndpointLost"
	// ReasonEndpointPending: the endpoint answers; its EndpointSlice is being written.
	ReasonEndpointPending = "EndpointPending"
	// ReasonAnnotationLost: our annotations are no longer on the pod.
	ReasonAnnotationLost = "AnnotationLost"
	// ReasonPodGone: the pod was deleted or recreated midway.
	ReasonPodGone = "PodGone"
	// ReasonRolloutPending: the pod waits for its turn.
	ReasonRolloutPending = "RolloutPending"
	// ReasonRolloutHalted: the pod waits since the rollout was stopped.
	ReasonRolloutHalted = "RolloutHalted"
	// ReasonSuspended: the pod waits since the exporter is suspended.
	ReasonSuspended = "Suspended"
)

// Reasons that mend themselves or are mended from outside without an event:
// looked at again, at growing intervals of up to ten minutes.
const (
	// ReasonNoJavaProcess: no container of the pod runs a Java process.
	ReasonNoJavaProcess = "NoJavaProcess"
	// ReasonNoProcessIncluded: the rules of the exporter exclude every Java process.
	ReasonNoProcessIncluded = "NoProcessIncluded"
	// ReasonStockExporterNotServing: the stock exporter is in the JVM, but
	// answers on no port.
	ReasonStockExporterNotServing = "StockExporterNotServing"
	// ReasonStockExporter: the stock exporter came into the JVM before our agent
	// was loaded.
	ReasonStockExporter = "StockExporter"
	// ReasonDetaching: the pod is being taken out.
	ReasonDetaching = "Detaching"
	// ReasonJVMStarting: the JVM cannot be attached to yet.
	ReasonJVMStarting = "JVMStarting"
	// ReasonProcessGone: the JVM ended while it was worked on.
	ReasonProcessGone = "ProcessGone"
	// ReasonQueued: as many execs are under way as may be at once. It is not
	// recorded.
	ReasonQueued = "Queued"
	// ReasonBusy: another helper works on this JVM.
	ReasonBusy = "Busy"
	// ReasonPortInUse: somebody else in the pod listens on the port.
	ReasonPortInUse = "PortInUse"
	// ReasonStagingIncomplete: a file did not arrive whole.
	ReasonStagingIncomplete = "StagingIncomplete"
	// ReasonNoSpace: the container's file system is full.
	ReasonNoSpace = "NoSpace"
	// ReasonAttachFailed: the JVM did not answer as it should.
	ReasonAttachFailed = "AttachFailed"
	// ReasonAttachTimeout: the JVM did not answer in time.
	ReasonAttachTimeout = "AttachTimeout"
	// ReasonAgentNotAnswering: the agent is in the JVM, but does not answer.
	ReasonAgentNotAnswering = "AgentNotAnswering"
	// ReasonAgentFailed: the agent could not start.
	ReasonAgentFailed = "AgentFailed"
	// ReasonEndpointNotServing: /metrics does not answer as it should.
	ReasonEndpointNotServing = "EndpointNotServing"
	// ReasonExecForbidden: RBAC does not let the operator exec into the pod.
	ReasonExecForbidden = "ExecForbidden"
	// ReasonExecRefused: an admission policy refuses the exec.
	ReasonExecRefused = "ExecRefused"
	// ReasonExecFailed: the exec broke off.
	ReasonExecFailed = "ExecFailed"
	// ReasonExecTimeout: the exec did not end before its deadline.
	ReasonExecTimeout = "ExecTimeout"
	// ReasonAnnotationRefused: RBAC or an admission policy refuses the annotation.
	ReasonAnnotationRefused = "AnnotationRefused"
	// ReasonAPIError: the API server answered with an error.
	ReasonAPIError = "APIError"
	// ReasonHelperFailed: the helper broke off or answered what cannot be read.
	ReasonHelperFailed = "HelperFailed"
)

// Reasons of a configuration that cannot be used. They hold for every pod of an
// exporter and end with the next change of the ConfigMap or of the exporter.
const (
	// ReasonConfigMapMissing: there is no such ConfigMap.
	ReasonConfigMapMissing = "ConfigMapMissing"
	// ReasonConfigKeyMissing: the ConfigMap has no such key.
	ReasonConfigKeyMissing = "ConfigKeyMissing"
	// ReasonConfigMapForbidden: RBAC does not let the operator read the ConfigMap.
	ReasonConfigMapForbidden = "ConfigMapForbidden"
	// ReasonConfigNotYAML: the content is not YAML.
	ReasonConfigNotYAML = "ConfigNotYAML"
	// ReasonConfigInvalid: a key is unknown, or its value has the wrong type.
	ReasonConfigInvalid = "ConfigInvalid"
	// ReasonConfigForbidden: a key makes no sense in an attached exporter.
	ReasonConfigForbidden = "ConfigForbidden"
	// ReasonConfigTooLarge: the content is larger than 256 KiB.
	ReasonConfigTooLarge = "ConfigTooLarge"
)

// Reasons that need a person: the pod is refused until it, its containers or
// its exporter change.
const (
	// ReasonNoShell: the container has no shell, or not the tools that exec needs.
	ReasonNoShell = "NoShell"
	// ReasonTmpNotWritable: HotSpot cannot open its attach socket in /tmp.
	ReasonTmpNotWritable = "TmpNotWritable"
	// ReasonHomeNotTrusted: the helper's directory belongs to somebody else.
	ReasonHomeNotTrusted = "HomeNotTrusted"
	// ReasonHelperNotExecutable: /tmp is mounted noexec, or the CPU has no helper.
	ReasonHelperNotExecutable = "HelperNotExecutable"
	// ReasonWrongPod: the container's mounts do not prove that it is of this pod.
	ReasonWrongPod = "WrongPod"
	// ReasonUserMismatch: the JVM runs as a user that the exec cannot become.
	ReasonUserMismatch = "UserMismatch"
	// ReasonUnsupportedJVM: the JVM is not HotSpot, or takes no agents.
	ReasonUnsupportedJVM = "UnsupportedJVM"
	// ReasonSignalsReduced: -Xrs, and the attach socket is gone.
	ReasonSignalsReduced = "SignalsReduced"
	// ReasonOptionsUnknown: whether the JVM accepts attachers cannot be told.
	ReasonOptionsUnknown = "OptionsUnknown"
	// ReasonAttachDisabled: -XX:+DisableAttachMechanism.
	ReasonAttachDisabled = "AttachDisabled"
	// ReasonAgentLoadingDisabled: -XX:-EnableDynamicAgentLoading.
	ReasonAgentLoadingDisabled = "AgentLoadingDisabled"
	// ReasonMissingModule: the Java runtime lacks a module that the agent needs.
	ReasonMissingModule = "MissingModule"
	// ReasonConfigRejected: the agent does not accept the configuration.
	ReasonConfigRejected = "ConfigRejected"
	// ReasonAnnotationConflict: somebody else owns prometheus.io annotations of the pod.
	ReasonAnnotationConflict = "AnnotationConflict"
	// ReasonAnnotationContested: somebody takes our annotations off the pod again
	// and again.
	ReasonAnnotationContested = "AnnotationContested"
	// ReasonRestartedAfterAttach: a container ended soon after an attach.
	ReasonRestartedAfterAttach = "RestartedAfterAttach"
	// ReasonPodClaimed: an older exporter selects the pod too, and keeps it.
	ReasonPodClaimed = "PodClaimed"
	// ReasonBadRequest: the helper did not understand the operator; a bug.
	ReasonBadRequest = "BadRequest"
	// ReasonPodsRefused, of an exporter: some pods are refused; their
	// JmxAttachments say why.
	ReasonPodsRefused = "PodsRefused"
)

// Halts tells whether a pod with this reason stops the rollout of what it was
// brought to: what hurt one is not done to the next.
func Halts(reason string) bool {
	return reason == ReasonConfigRejected || reason == ReasonRestartedAfterAttach
}

// RefusalExcluded is the refusal of a process that the rules of its exporter exclude.
const RefusalExcluded = "Excluded"

// class says how a reason ends, and so what its condition is meanwhile.
type class int

const (
	// passing: nothing is wrong; it is brought about next, or looked at again soon.
	passing class = iota + 1
	// awaited: nothing is wrong; an event of the API ends it.
	awaited
	// failing: looked at again, at growing intervals.
	failing
	// mended: an event of the API tells that somebody mended it.
	mended
	// refused: needs a person.
	refused
)

var classes = map[string]class{
	ReasonReplaced:       passing,
	ReasonConfigChanged:  passing,
	ReasonAgentChanged:   passing,
	ReasonEndpointLost:   passing,
	ReasonAnnotationLost: passing,
	ReasonJVMStarting:    passing,
	ReasonProcessGone:    passing,
	ReasonQueued:         passing,
	ReasonBusy:           passing,

	ReasonContainerNotRunning: awaited,
	ReasonEndpointPending:     awaited,
	ReasonPodGone:             awaited,
	ReasonRolloutPending:      awaited,
	ReasonRolloutHalted:       awaited,
	ReasonSuspended:           awaited,

	ReasonNoJavaProcess:           failing,
	ReasonNoProcessIncluded:       failing,
	ReasonStockExporterNotServing: failing,
	ReasonStockExporter:           failing,
	ReasonDetaching:               failing,
	ReasonPortInUse:               failing,
	ReasonStagingIncomplete:       failing,
	ReasonNoSpace:                 failing,
	ReasonAttachFailed:            failing,
	ReasonAttachTimeout:           failing,
	ReasonAgentNotAnswering:       failing,
	ReasonAgentFailed:             failing,
	ReasonEndpointNotServing:      failing,
	ReasonExecForbidden:           failing,
	ReasonExecRefused:             failing,
	ReasonExecFailed:              failing,
	ReasonExecTimeout:             failing,
	ReasonAnnotationRefused:       failing,
	ReasonAPIError:                failing,
	ReasonHelperFailed:            failing,
	ReasonConfigMapForbidden:      failing,

	ReasonConfigMapMissing: mended,
	ReasonConfigKeyMissing: mended,
	ReasonConfigNotYAML:    mended,
	ReasonConfigInvalid:    mended,
	ReasonConfigForbidden:  mended,
	ReasonConfigTooLarge:   mended,

	ReasonNoShell:              refused,
	ReasonTmpNotWritable:       refused,
	ReasonHomeNotTrusted:       refused,
	ReasonHelperNotExecutable:  refused,
	ReasonWrongPod:             refused,
	ReasonUserMismatch:         refused,
	ReasonUnsupportedJVM:       refused,
	ReasonSignalsReduced:       refused,
	ReasonOptionsUnknown:       refused,
	ReasonAttachDisabled:       refused,
	ReasonAgentLoadingDisabled: refused,
	ReasonMissingModule:        refused,
	ReasonConfigRejected:       refused,
	ReasonAnnotationConflict:   refused,
	ReasonAnnotationContested:  refused,
	ReasonRestartedAfterAttach: refused,
	ReasonPodClaimed:           refused,
	ReasonBadRequest:           refused,
}

// Known tells whether this is a reason why a phase is not reached.
func Known(reason string) bool { return classes[reason] != 0 }

// Passing tells whether nothing is wrong: the condition is Unknown, not False.
func Passing(reason string) bool {
	return classes[reason] == passing || classes[reason] == awaited
}

// AwaitsEvent tells whether what ends this reason is announced by an event of
// the API, so that nothing needs to be tried again before.
func AwaitsEvent(reason string) bool {
	return classes[reason] == awaited || classes[reason] == mended
}

// NeedsPerson tells whether a pod with this reason is refused: nothing that the
// operator could wait for mends it.
func NeedsPerson(reason string) bool { return classes[reason] == refused }
