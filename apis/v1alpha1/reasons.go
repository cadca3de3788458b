package v1alpha1

// Reasons of Discovered.
const (
	// ReasonSelected surfaces on Discovered when the exporter selects the pod.
	ReasonSelected = "Selected"
	// ReasonPodGone surfaces when the pod is deleted or recreated during a step.
	ReasonPodGone = "PodGone"
)

// Reasons of JavaFound: what the inspection of the containers finds.
const (
	// ReasonJVMIdentified surfaces on JavaFound when a JVM that can be attached to
	// is identified.
	ReasonJVMIdentified = "JVMIdentified"
	// ReasonReplaced surfaces on JavaFound when the container or the JVM was replaced.
	ReasonReplaced = "Replaced"
	// ReasonContainerNotRunning surfaces when no container of the pod is running, or
	// the pod has no address.
	ReasonContainerNotRunning = "ContainerNotRunning"
	// ReasonJVMStarting surfaces when the JVM cannot be attached to yet.
	ReasonJVMStarting = "JVMStarting"
	// ReasonProcessGone surfaces when the JVM exits during a step.
	ReasonProcessGone = "ProcessGone"
	// ReasonNoJavaProcess surfaces on JavaFound when no container of the pod runs a
	// Java process.
	ReasonNoJavaProcess = "NoJavaProcess"
	// ReasonNoProcessIncluded surfaces on JavaFound when spec.processes excludes every
	// Java process.
	ReasonNoProcessIncluded = "NoProcessIncluded"
	// ReasonUnsupportedOS surfaces on JavaFound when the pod runs on Windows.
	ReasonUnsupportedOS = "UnsupportedOS"
	// ReasonPodProtected surfaces when the operator's flags do not allow to attach to the
	// pod or container, because it has power over the node, or is in kube-system or in the
	// operator's own namespace.
	ReasonPodProtected = "PodProtected"
	// ReasonNotAuthorized surfaces when the user who wrote the exporter's spec has no
	// right any more to attach in the namespace, or to get the Secret that it names.
	ReasonNotAuthorized = "NotAuthorized"
	// ReasonStockExporterNotServing surfaces when the stock exporter is in the JVM, but
	// answers on no port, or is not the only one that answers like it.
	ReasonStockExporterNotServing = "StockExporterNotServing"
	// ReasonNoShell surfaces when the container has no shell, or lacks a tool that exec needs.
	ReasonNoShell = "NoShell"
	// ReasonTransportForbidden surfaces when spec.transport asks for a transport that the
	// operator's flag --transport rules out.
	ReasonTransportForbidden = "TransportForbidden"
	// ReasonDoorPending surfaces while the operator's ephemeral container starts.
	ReasonDoorPending = "DoorPending"
	// ReasonDoorImagePullFailed surfaces when the node cannot pull its image.
	ReasonDoorImagePullFailed = "DoorImagePullFailed"
	// ReasonDoorFailed surfaces when it does not start, or ends with an error.
	ReasonDoorFailed = "DoorFailed"
	// ReasonDoorForbidden surfaces when RBAC does not let the operator add one.
	ReasonDoorForbidden = "DoorForbidden"
	// ReasonDoorRefused surfaces when a policy, a quota or the API server refuses it.
	ReasonDoorRefused = "DoorRefused"
	// ReasonDoorsExhausted surfaces when the pod has as many of them as it may have.
	ReasonDoorsExhausted = "DoorsExhausted"
	// ReasonNodeAgentMissing surfaces when spec.transport or the operator's flag asks for
	// Node, and no node agent runs on the pod's node.
	ReasonNodeAgentMissing = "NodeAgentMissing"
	// ReasonNodeAgentPending surfaces while the node agent on the pod's node is not ready.
	ReasonNodeAgentPending = "NodeAgentPending"
	// ReasonNodeAgentRefused surfaces when the node agent does not serve the container: it
	// has power over the node, or is the node agent's own.
	ReasonNodeAgentRefused = "NodeAgentRefused"
	// ReasonNodeAgentUndecided surfaces when the node agent cannot determine whether it may
	// serve the container: it lacks a right, or the container has too many mounts.
	ReasonNodeAgentUndecided = "NodeAgentUndecided"
	// ReasonHelperNotExecutable surfaces when /tmp is mounted noexec, or there is no
	// helper for the node's CPU.
	ReasonHelperNotExecutable = "HelperNotExecutable"
	// ReasonWrongPod surfaces when the container's mounts do not prove that it belongs
	// to this pod.
	ReasonWrongPod = "WrongPod"
	// ReasonUserMismatch surfaces when the JVM runs as a user that the exec cannot become.
	ReasonUserMismatch = "UserMismatch"
	// ReasonProcessNotReadable surfaces on JavaFound when the kernel does not show the JVM to
	// its own user, because the process is not dumpable.
	ReasonProcessNotReadable = "ProcessNotReadable"
	// ReasonUnsupportedJVM surfaces when the JVM is not HotSpot, or takes no agents.
	ReasonUnsupportedJVM = "UnsupportedJVM"
	// ReasonSignalsReduced surfaces when the JVM runs with -Xrs and its attach socket is gone.
	ReasonSignalsReduced = "SignalsReduced"
	// ReasonOptionsUnknown surfaces when it cannot be determined whether the JVM
	// accepts attachers.
	ReasonOptionsUnknown = "OptionsUnknown"
	// ReasonAttachDisabled surfaces when the JVM runs with -XX:+DisableAttachMechanism.
	ReasonAttachDisabled = "AttachDisabled"
	// ReasonAgentLoadingDisabled surfaces when the JVM runs with
	// -XX:-EnableDynamicAgentLoading.
	ReasonAgentLoadingDisabled = "AgentLoadingDisabled"
	// ReasonAgentLoadingWarns surfaces when a load makes the JVM write the warning lines
	// of JEP 451, and spec.dynamicAgentLoading is RefuseOnWarning.
	ReasonAgentLoadingWarns = "AgentLoadingWarns"
	// ReasonMissingModule surfaces when the Java runtime lacks a module that the agent needs.
	ReasonMissingModule = "MissingModule"
	// ReasonTmpNotWritable surfaces when HotSpot cannot open its attach socket in /tmp.
	ReasonTmpNotWritable = "TmpNotWritable"
	// ReasonTmpShared surfaces when another user may replace files in the JVM's
	// /tmp, and spec.allowSharedTmp does not accept that.
	ReasonTmpShared = "TmpShared"
)

// Reasons of Staged: why nothing is staged yet, and what fails there.
const (
	// ReasonFilesVerified surfaces on Staged when agent and configuration lie in the
	// containers with the right digests.
	ReasonFilesVerified = "FilesVerified"
	// ReasonAdopted surfaces on Staged and Loaded when the stock exporter is in
	// every JVM, and stays as it is.
	ReasonAdopted = "Adopted"
	// ReasonConfigChanged surfaces on Staged when the staged files are no longer those wanted.
	ReasonConfigChanged = "ConfigChanged"
	// ReasonRolloutPending surfaces when the pod waits for a rollout slot.
	ReasonRolloutPending = "RolloutPending"
	// ReasonRolloutHalted surfaces when the pod waits because the rollout is halted.
	ReasonRolloutHalted = "RolloutHalted"
	// ReasonRolloutPaused surfaces on Ready and Reconciling of the exporter when a
	// container of a pod exited less than spec.rollout.restartWindow ago, soon after an
	// attach.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonSuspended surfaces when the pod waits because the exporter is suspended.
	ReasonSuspended = "Suspended"
	// ReasonPreflight surfaces on Staged when the pod can be attached to, and on Ready of
	// its exporter, when spec.mode is Preflight: nothing is attached.
	ReasonPreflight = "Preflight"
	// ReasonContainerNotReady surfaces when the container is not ready, and started less
	// than spec.rollout.restartWindow ago.
	ReasonContainerNotReady = "ContainerNotReady"
	// ReasonContainerRestarting surfaces when the container restarted less than ten minutes
	// ago, and no instance of it has proven the revision; and when it is about as old as its
	// previous instance was when it exited: from two of spec.rollout.restartWindow before
	// that age to one after it.
	ReasonContainerRestarting = "ContainerRestarting"
	// ReasonRestartedAfterAttach surfaces when a container exited soon after an attach
	// while the rollout is halted, or twice.
	ReasonRestartedAfterAttach = "RestartedAfterAttach"
	// ReasonStagingIncomplete surfaces on Staged when a file did not arrive whole.
	ReasonStagingIncomplete = "StagingIncomplete"
	// ReasonNoSpace surfaces when the container's file system is full.
	ReasonNoSpace = "NoSpace"
	// ReasonStorageLimitTooLow surfaces when the pod's spec lets less be written to /tmp
	// than attaching needs: beyond it the kubelet evicts the pod.
	ReasonStorageLimitTooLow = "StorageLimitTooLow"
	// ReasonAgentDirectoryNotTrusted surfaces when the agent directory belongs to another user.
	ReasonAgentDirectoryNotTrusted = "AgentDirectoryNotTrusted"
)

// Reasons of Loaded.
const (
	// ReasonAgentServing surfaces on Loaded when the agent serves the configuration
	// in every JVM.
	ReasonAgentServing = "AgentServing"
	// ReasonAgentChanged surfaces on Loaded when the agent serves another
	// configuration or port than those wanted.
	ReasonAgentChanged = "AgentChanged"
	// ReasonAgentGone surfaces on Loaded when the agent was loaded and is no longer present.
	ReasonAgentGone = "AgentGone"
	// ReasonEndpointForeign surfaces on Loaded when the agent serves, and a foreign
	// process answers at its endpoint.
	ReasonEndpointForeign = "EndpointForeign"
	// ReasonStockExporter surfaces on Loaded when the stock exporter was loaded into
	// the JVM before our agent.
	ReasonStockExporter = "StockExporter"
	// ReasonInsufficientMemory surfaces when less than spec.memoryHeadroom is free below
	// the container's memory limit.
	ReasonInsufficientMemory = "InsufficientMemory"
	// ReasonInsufficientThreads surfaces when limits leave too few threads for an attach.
	ReasonInsufficientThreads = "InsufficientThreads"
	// ReasonInsufficientHeap surfaces on Loaded when an option of the JVM reacts to an
	// OutOfMemoryError, and too little of its heap is free.
	ReasonInsufficientHeap = "InsufficientHeap"
	// ReasonInsufficientMetaspace surfaces on Loaded when too little of the JVM's
	// metaspace, compressed class space or code cache is free for the agent's classes.
	ReasonInsufficientMetaspace = "InsufficientMetaspace"
	// ReasonAttachFailed surfaces when the JVM does not answer as it should.
	ReasonAttachFailed = "AttachFailed"
	// ReasonAttachTimeout surfaces when the JVM does not answer in time.
	ReasonAttachTimeout = "AttachTimeout"
	// ReasonAgentNotAnswering surfaces on Loaded when the agent in the JVM does not answer.
	ReasonAgentNotAnswering = "AgentNotAnswering"
	// ReasonAgentFailed surfaces on Loaded when the agent cannot start.
	ReasonAgentFailed = "AgentFailed"
	// ReasonPortInUse surfaces on Loaded when another process in the pod listens on the port.
	ReasonPortInUse = "PortInUse"
	// ReasonForeignJar surfaces when the JVM has a jar open in the place of our
	// agent's that is not ours.
	ReasonForeignJar = "ForeignJar"
	// ReasonConfigRejected surfaces on Loaded when the agent rejects the configuration.
	ReasonConfigRejected = "ConfigRejected"
	// ReasonSecurityRejected surfaces on Loaded when the agent rejects the Secret.
	ReasonSecurityRejected = "SecurityRejected"
	// ReasonCollectionTooLarge surfaces on Loaded when a collection would leave the
	// application too little heap: the agent serves the configuration before it, or
	// answers 503 if there is none.
	ReasonCollectionTooLarge = "CollectionTooLarge"
	// ReasonRuleTooExpensive surfaces on Loaded when the agent serves the
	// configuration without a rule that takes too much of the application's CPU.
	ReasonRuleTooExpensive = "RuleTooExpensive"
)

// Reasons of Exposed.
const (
	// ReasonEndpointPublished surfaces on Exposed when every endpoint answers and
	// stands in an EndpointSlice.
	ReasonEndpointPublished = "EndpointPublished"
	// ReasonEndpointPending surfaces on Exposed when the endpoint answers and its
	// EndpointSlice is being written.
	ReasonEndpointPending = "EndpointPending"
	// ReasonEndpointSilent surfaces on Exposed when the endpoint stopped answering.
	ReasonEndpointSilent = "EndpointSilent"
	// ReasonEndpointMoved surfaces on Exposed when the pod's address or the agent's port
	// changed.
	ReasonEndpointMoved = "EndpointMoved"
	// ReasonEndpointLost surfaces on Exposed when the endpoint is missing in the
	// EndpointSlices.
	ReasonEndpointLost = "EndpointLost"
	// ReasonEndpointNotServing surfaces on Exposed when /metrics does not answer as it should.
	ReasonEndpointNotServing = "EndpointNotServing"
)

// Reasons of Annotated.
const (
	// ReasonAnnotationsApplied surfaces on Annotated when the pod carries the
	// scrape annotations.
	ReasonAnnotationsApplied = "AnnotationsApplied"
	// ReasonAnnotationLost surfaces on Annotated when the operator's annotations are
	// no longer on the pod.
	ReasonAnnotationLost = "AnnotationLost"
	// ReasonAnnotationRefused surfaces on Annotated when RBAC or an admission policy
	// refuses the annotations.
	ReasonAnnotationRefused = "AnnotationRefused"
	// ReasonAnnotationConflict surfaces on Annotated when another field manager owns
	// prometheus.io annotations of the pod.
	ReasonAnnotationConflict = "AnnotationConflict"
	// ReasonAnnotationContested surfaces on Annotated when the operator's annotations
	// are removed repeatedly.
	ReasonAnnotationContested = "AnnotationContested"
)

// Reasons of each phase: what an earlier one, the way into the container, or the
// API server keeps from it.
const (
	// ReasonNotReached surfaces on a phase that an earlier phase must precede, or that
	// is next.
	ReasonNotReached = "NotReached"
	// ReasonQueued surfaces in metrics only, when the limit of concurrent execs is reached.
	ReasonQueued = "Queued"
	// ReasonBusy surfaces when another helper works on this JVM.
	ReasonBusy = "Busy"
	// ReasonExecForbidden surfaces when RBAC does not let the operator exec into the pod.
	ReasonExecForbidden = "ExecForbidden"
	// ReasonExecRefused surfaces when an admission policy refuses the exec.
	ReasonExecRefused = "ExecRefused"
	// ReasonExecFailed surfaces when the exec breaks off.
	ReasonExecFailed = "ExecFailed"
	// ReasonExecTimeout surfaces when the helper does not answer a request before its
	// deadline.
	ReasonExecTimeout = "ExecTimeout"
	// ReasonContainerNotResponding surfaces when an exec into the container is not
	// answered within five seconds.
	ReasonContainerNotResponding = "ContainerNotResponding"
	// ReasonHelperFailed surfaces when the helper breaks off, or its answer cannot be read.
	ReasonHelperFailed = "HelperFailed"
	// ReasonHelperKilled surfaces when a signal ended the helper: it did not fail by itself.
	ReasonHelperKilled = "HelperKilled"
	// ReasonBadRequest surfaces when the helper does not understand the operator; a bug.
	ReasonBadRequest = "BadRequest"
	// ReasonAPIError surfaces when the API server answers with an error.
	ReasonAPIError = "APIError"
)

// Reasons of Ready of a JmxAttachment, besides those of its phases.
const (
	// ReasonScrapable surfaces on Ready of a JmxAttachment when all phases hold.
	ReasonScrapable = "Scrapable"
	// ReasonDetaching surfaces on Ready of a JmxAttachment while the operator detaches
	// from the pod.
	ReasonDetaching = "Detaching"
)
