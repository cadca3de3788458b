package v1alpha1

// Halts reports whether this reason of a pod halts the rollout of its revision, so that
// the same does not happen to the next pod.
func Halts(reason string) bool {
	return reason == ReasonConfigRejected || reason == ReasonSecurityRejected || reason == ReasonRuleTooExpensive || reason == ReasonRestartedAfterAttach
}

// ReasonClass classifies reasons by what ends them, which also determines the status of
// their condition.
type ReasonClass int

const (
	// ClassPassing: nothing is wrong; retried soon. Unknown.
	ClassPassing ReasonClass = iota + 1
	// ClassAwaited: nothing is wrong; ends with an event of the API, or at a known time.
	// The pod keeps its place in the rollout: the event concerns the exporter. Unknown.
	ClassAwaited
	// ClassAwaitsPod: like ClassAwaited, but the event is the pod's own. The rollout goes
	// on to other pods meanwhile. Unknown.
	ClassAwaitsPod
	// ClassFailing: retried with backoff. False.
	ClassFailing
	// ClassMended: ends with an event of the API that announces the fix. False.
	ClassMended
	// ClassRefused: needs a person. False.
	ClassRefused
)

var classes = map[string]ReasonClass{
	ReasonReplaced:         ClassPassing,
	ReasonAgentGone:        ClassPassing,
	ReasonEndpointForeign:  ClassPassing,
	ReasonEndpointSilent:   ClassPassing,
	ReasonConfigChanged:    ClassPassing,
	ReasonAgentChanged:     ClassPassing,
	ReasonEndpointMoved:    ClassPassing,
	ReasonEndpointLost:     ClassPassing,
	ReasonAnnotationLost:   ClassPassing,
	ReasonJVMStarting:      ClassPassing,
	ReasonProcessGone:      ClassPassing,
	ReasonQueued:           ClassPassing,
	ReasonBusy:             ClassPassing,
	ReasonDoorPending:      ClassPassing,
	ReasonNodeAgentPending: ClassPassing,

	ReasonEndpointPending: ClassAwaited,
	ReasonRolloutPending:  ClassAwaited,
	ReasonRolloutHalted:   ClassAwaited,
	ReasonSuspended:       ClassAwaited,
	ReasonPreflight:       ClassAwaited,

	ReasonContainerNotRunning: ClassAwaitsPod,
	ReasonContainerNotReady:   ClassAwaitsPod,
	ReasonContainerRestarting: ClassAwaitsPod,
	ReasonPodGone:             ClassAwaitsPod,

	ReasonNoJavaProcess:           ClassFailing,
	ReasonNoProcessIncluded:       ClassFailing,
	ReasonStockExporterNotServing: ClassFailing,
	ReasonStockExporter:           ClassFailing,
	ReasonDetaching:               ClassFailing,
	ReasonPortInUse:               ClassFailing,
	ReasonStagingIncomplete:       ClassFailing,
	ReasonNoSpace:                 ClassFailing,
	ReasonInsufficientMemory:      ClassFailing,
	ReasonInsufficientThreads:     ClassFailing,
	ReasonInsufficientHeap:        ClassFailing,
	ReasonInsufficientMetaspace:   ClassFailing,
	ReasonCollectionTooLarge:      ClassFailing,
	ReasonAttachFailed:            ClassFailing,
	ReasonAttachTimeout:           ClassFailing,
	ReasonAgentNotAnswering:       ClassFailing,
	ReasonAgentFailed:             ClassFailing,
	ReasonEndpointNotServing:      ClassFailing,
	ReasonExecForbidden:           ClassFailing,
	ReasonExecRefused:             ClassFailing,
	ReasonExecFailed:              ClassFailing,
	ReasonDoorForbidden:           ClassFailing,
	ReasonDoorRefused:             ClassFailing,
	ReasonNodeAgentUndecided:      ClassFailing,
	ReasonContainerNotResponding:  ClassFailing,
	ReasonExecTimeout:             ClassFailing,
	ReasonAnnotationRefused:       ClassFailing,
	ReasonAPIError:                ClassFailing,
	ReasonHelperFailed:            ClassFailing,
	ReasonHelperKilled:            ClassFailing,
	ReasonConfigMapForbidden:      ClassFailing,
	ReasonTooManyExporters:        ClassFailing,
	ReasonNotAuthorized:           ClassFailing,
	ReasonSecretNotFound:          ClassFailing,
	ReasonSecretForbidden:         ClassFailing,
	ReasonSecretInvalid:           ClassFailing,

	ReasonDoorImagePullFailed: ClassMended,
	ReasonNodeAgentMissing:    ClassMended,

	ReasonConfigMapMissing:    ClassMended,
	ReasonConfigMapUnlabeled:  ClassMended,
	ReasonConfigKeyMissing:    ClassMended,
	ReasonConfigNotYAML:       ClassMended,
	ReasonConfigInvalid:       ClassMended,
	ReasonConfigForbidden:     ClassMended,
	ReasonConfigTooLarge:      ClassMended,
	ReasonProcessRulesInvalid: ClassMended,

	ReasonUnsupportedOS:            ClassRefused,
	ReasonPodProtected:             ClassRefused,
	ReasonNoShell:                  ClassRefused,
	ReasonTransportForbidden:       ClassRefused,
	ReasonDoorFailed:               ClassRefused,
	ReasonNodeAgentRefused:         ClassRefused,
	ReasonDoorsExhausted:           ClassRefused,
	ReasonStorageLimitTooLow:       ClassRefused,
	ReasonTmpNotWritable:           ClassRefused,
	ReasonAgentDirectoryNotTrusted: ClassRefused,
	ReasonTmpShared:                ClassRefused,
	ReasonForeignJar:               ClassRefused,
	ReasonHelperNotExecutable:      ClassRefused,
	ReasonWrongPod:                 ClassRefused,
	ReasonUserMismatch:             ClassRefused,
	ReasonProcessNotReadable:       ClassRefused,
	ReasonUnsupportedJVM:           ClassRefused,
	ReasonSignalsReduced:           ClassRefused,
	ReasonOptionsUnknown:           ClassRefused,
	ReasonAttachDisabled:           ClassRefused,
	ReasonAgentLoadingDisabled:     ClassRefused,
	ReasonAgentLoadingWarns:        ClassRefused,
	ReasonMissingModule:            ClassRefused,
	ReasonConfigRejected:           ClassRefused,
	ReasonSecurityRejected:         ClassRefused,
	ReasonRuleTooExpensive:         ClassRefused,
	ReasonAnnotationConflict:       ClassRefused,
	ReasonAnnotationContested:      ClassRefused,
	ReasonRestartedAfterAttach:     ClassRefused,
	ReasonPodClaimed:               ClassRefused,
	ReasonBadRequest:               ClassRefused,
}

// ClassOf returns the class of a reason; 0 if it is not a reason why a phase does not
// hold.
func ClassOf(reason string) ReasonClass { return classes[reason] }

// Known reports whether this is a reason why a phase does not hold.
func Known(reason string) bool { return classes[reason] != 0 }

// Passing reports whether nothing is wrong: the condition is Unknown rather than False.
func Passing(reason string) bool {
	return classes[reason] == ClassPassing || classes[reason] == ClassAwaited || AwaitsPod(reason)
}

// AwaitsPod reports whether an event of the pod itself ends this reason.
func AwaitsPod(reason string) bool { return classes[reason] == ClassAwaitsPod }

// AwaitsEvent reports whether an event of the API announces the end of this reason, so
// that no retry is needed before.
func AwaitsEvent(reason string) bool {
	return classes[reason] == ClassAwaited || AwaitsPod(reason) || classes[reason] == ClassMended
}

// NeedsPerson reports whether a pod with this reason is refused: it cannot recover
// without manual action.
func NeedsPerson(reason string) bool { return classes[reason] == ClassRefused }
