package v1alpha1

// Halts reports whether a pod with this reason stops the rollout of what it was
// updated to: what hurt one is not done to the next.
func Halts(reason string) bool {
	return reason == ReasonConfigRejected || reason == ReasonSecurityRejected || reason == ReasonRuleTooExpensive || reason == ReasonRestartedAfterAttach
}

// ReasonClass is how a reason ends, and so what its condition is meanwhile.
type ReasonClass int

const (
	// ClassPassing: nothing is wrong; it is tried again soon. Unknown.
	ClassPassing ReasonClass = iota + 1
	// ClassAwaited: nothing is wrong; an event of the API ends it, or a time that is
	// known. Unknown.
	ClassAwaited
	// ClassFailing: tried again at growing intervals. False.
	ClassFailing
	// ClassMended: an event of the API announces that somebody mended it. False.
	ClassMended
	// ClassRefused: needs a person. False.
	ClassRefused
)

var classes = map[string]ReasonClass{
	ReasonReplaced:        ClassPassing,
	ReasonAgentGone:       ClassPassing,
	ReasonEndpointForeign: ClassPassing,
	ReasonEndpointSilent:  ClassPassing,
	ReasonConfigChanged:   ClassPassing,
	ReasonAgentChanged:    ClassPassing,
	ReasonEndpointMoved:   ClassPassing,
	ReasonEndpointLost:    ClassPassing,
	ReasonAnnotationLost:  ClassPassing,
	ReasonJVMStarting:     ClassPassing,
	ReasonProcessGone:     ClassPassing,
	ReasonQueued:          ClassPassing,
	ReasonBusy:            ClassPassing,
	ReasonDoorPending:     ClassPassing,

	ReasonContainerNotRunning: ClassAwaited,
	ReasonContainerRestarting: ClassAwaited,
	ReasonEndpointPending:     ClassAwaited,
	ReasonPodGone:             ClassAwaited,
	ReasonRolloutPending:      ClassAwaited,
	ReasonRolloutHalted:       ClassAwaited,
	ReasonSuspended:           ClassAwaited,
	ReasonPreflight:           ClassAwaited,

	ReasonNoJavaProcess:           ClassFailing,
	ReasonNoProcessIncluded:       ClassFailing,
	ReasonStockExporterNotServing: ClassFailing,
	ReasonStockExporter:           ClassFailing,
	ReasonDetaching:               ClassFailing,
	ReasonPortInUse:               ClassFailing,
	ReasonStagingIncomplete:       ClassFailing,
	ReasonNoSpace:                 ClassFailing,
	ReasonInsufficientMemory:      ClassFailing,
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
	ReasonContainerNotResponding:  ClassFailing,
	ReasonExecTimeout:             ClassFailing,
	ReasonAnnotationRefused:       ClassFailing,
	ReasonAPIError:                ClassFailing,
	ReasonHelperFailed:            ClassFailing,
	ReasonConfigMapForbidden:      ClassFailing,
	ReasonNotAuthorized:           ClassFailing,
	ReasonSecretNotFound:          ClassFailing,
	ReasonSecretForbidden:         ClassFailing,
	ReasonSecretInvalid:           ClassFailing,

	ReasonDoorImagePullFailed: ClassMended,

	ReasonConfigMapMissing:   ClassMended,
	ReasonConfigMapUnlabeled: ClassMended,
	ReasonConfigKeyMissing:   ClassMended,
	ReasonConfigNotYAML:      ClassMended,
	ReasonConfigInvalid:      ClassMended,
	ReasonConfigForbidden:    ClassMended,
	ReasonConfigTooLarge:     ClassMended,

	ReasonUnsupportedOS:            ClassRefused,
	ReasonPodProtected:             ClassRefused,
	ReasonNoShell:                  ClassRefused,
	ReasonTransportForbidden:       ClassRefused,
	ReasonDoorFailed:               ClassRefused,
	ReasonDoorsExhausted:           ClassRefused,
	ReasonStorageLimitTooLow:       ClassRefused,
	ReasonTmpNotWritable:           ClassRefused,
	ReasonAgentDirectoryNotTrusted: ClassRefused,
	ReasonTmpShared:                ClassRefused,
	ReasonForeignJar:               ClassRefused,
	ReasonHelperNotExecutable:      ClassRefused,
	ReasonWrongPod:                 ClassRefused,
	ReasonUserMismatch:             ClassRefused,
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

// ClassOf is the class of a reason; 0 for one that is none of why a phase does not
// hold.
func ClassOf(reason string) ReasonClass { return classes[reason] }

// Known reports whether this is a reason why a phase does not hold.
func Known(reason string) bool { return classes[reason] != 0 }

// Passing reports whether nothing is wrong: the condition is Unknown, not False.
func Passing(reason string) bool {
	return classes[reason] == ClassPassing || classes[reason] == ClassAwaited
}

// AwaitsEvent reports whether what ends this reason is announced by an event of
// the API, so that nothing needs to be tried again before.
func AwaitsEvent(reason string) bool {
	return classes[reason] == ClassAwaited || classes[reason] == ClassMended
}

// NeedsPerson reports whether a pod with this reason is refused: nothing that the
// operator could wait for mends it.
func NeedsPerson(reason string) bool { return classes[reason] == ClassRefused }
