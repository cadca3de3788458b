package v1alpha1

// NextStart is what the admission policy of config/next-start adds to new pods.
//
// +kubebuilder:validation:Enum=AllowAttach
type NextStart string

// NextStartAllowAttach adds OptionAllowAttach to the variable JavaOptionsVariable.
const NextStartAllowAttach NextStart = "AllowAttach"

// What the policy of config/next-start adds to the environment of a container. The java
// launcher reads the variable since JDK 9 (its option @argfiles and JDK_JAVA_OPTIONS are
// documented in the java man page), HotSpot has the option since JDK 9.
const (
	// JavaOptionsVariable is the environment variable whose options the launcher prepends
	// to those of its command line.
	JavaOptionsVariable = "JDK_JAVA_OPTIONS"
	// OptionAllowAttach permits loading agents into the running JVM, without a warning
	// (JEP 451).
	OptionAllowAttach = "-XX:+" + FlagAllowAttach
	// FlagAllowAttach is the name of the JVM's flag: whoever names it has decided.
	FlagAllowAttach = "EnableDynamicAgentLoading"
)

// Reasons of a NextStartSkipped, beside ReasonPodProtected for containers with power over
// their node. Its message says what to do.
const (
	// ReasonSetFromReference surfaces when the pod takes JDK_JAVA_OPTIONS from a
	// ConfigMap, a Secret or a field (valueFrom).
	ReasonSetFromReference = "SetFromReference"
	// ReasonMayBeSetFromReference surfaces when the container has envFrom and sets no
	// JDK_JAVA_OPTIONS itself.
	ReasonMayBeSetFromReference = "MayBeSetFromReference"
	// ReasonSetByImage surfaces when a JVM has JDK_JAVA_OPTIONS in its environment, and
	// the pod does not set it.
	ReasonSetByImage = "SetByImage"
	// ReasonImageNotPinned surfaces when the image has no tag or digest, or the tag
	// latest: what was observed in it says nothing about the next pod.
	ReasonImageNotPinned = "ImageNotPinned"
	// ReasonVariableUsed surfaces when the pod sets JDK_JAVA_OPTIONS twice, or names it
	// in another variable, the command or its arguments.
	ReasonVariableUsed = "VariableUsed"
	// ReasonValueTooLong surfaces when the pod's JDK_JAVA_OPTIONS has more than 32 KiB.
	ReasonValueTooLong = "ValueTooLong"
	// ReasonVariableNotRead surfaces when a JVM was started by a launcher that does not
	// read JDK_JAVA_OPTIONS: that of Java 8, or another one than java.
	ReasonVariableNotRead = "VariableNotRead"
	// ReasonLoadingDenied surfaces when a JVM was started with
	// -XX:-EnableDynamicAgentLoading.
	ReasonLoadingDenied = "LoadingDenied"
)

// NextStartNever returns the reasons for which the policy of config/next-start changes no
// container of the same name and image, whatever the pod sets: its JVMs cannot use the
// option, or may not have it.
func NextStartNever() []string { return []string{ReasonVariableNotRead, ReasonLoadingDenied} }

// NextStartStatus is what is known of the containers to which spec.atNextStart applies.
// The policy of config/next-start reads it.
type NextStartStatus struct {
	// containers are the containers to which the policy adds the variable
	// JDK_JAVA_OPTIONS: a JVM in each was seen to have none, so that none of the image is
	// hidden by it. A container whose pod sets a value is not listed, and needs no
	// observation.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Containers []NextStartContainer `json:"containers,omitempty"`
	// skipped are the containers with a JVM that the policy does not change, and why. Those
	// with the reasons VariableNotRead and LoadingDenied, by which the policy decides, come
	// first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Skipped []NextStartSkipped `json:"skipped,omitempty"`
}

// NextStartContainer is a container with an image that sets no JDK_JAVA_OPTIONS.
type NextStartContainer struct {
	// name is the name of the container.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// image is its image, as in the pod's spec. A container with another image is not
	// changed until it was observed, too.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
}

// NextStartSkipped is a container that the policy does not change.
type NextStartSkipped struct {
	// name is the name of the container.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// image is its image, as in the pod's spec, if the reason was seen in a JVM
	// (VariableNotRead, LoadingDenied, SetByImage): it holds for containers of this name
	// with this image. Without an image, it holds for all of this name.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// reason is why the policy does not change it.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// pod is a pod in which this is the case, the first by name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// message explains the reason, and says what to do.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
}

// AgentLoading is what a JVM does when an agent is loaded, now and with later versions of
// Java (JEP 451).
//
// +kubebuilder:validation:Enum=Allowed;WarnsAfterUpgrade;Warns;Denied
type AgentLoading string

// The order is that of severity.
const (
	// AgentLoadingAllowed: the JVM was started with -XX:+EnableDynamicAgentLoading.
	AgentLoadingAllowed AgentLoading = "Allowed"
	// AgentLoadingWarnsAfterUpgrade: a load is silent, since the JVM is older than Java 21;
	// a later one warns, and a future one refuses.
	AgentLoadingWarnsAfterUpgrade AgentLoading = "WarnsAfterUpgrade"
	// AgentLoadingWarns: a load writes four warning lines; a future version of Java refuses.
	AgentLoadingWarns AgentLoading = "Warns"
	// AgentLoadingDenied: the JVM was started with -XX:-EnableDynamicAgentLoading.
	AgentLoadingDenied AgentLoading = "Denied"
)

// JavaOptions is whether a JVM's environment has the variable JDK_JAVA_OPTIONS.
//
// +kubebuilder:validation:Enum=Absent;Set;Ignored
type JavaOptions string

const (
	// JavaOptionsAbsent: it has none, and the launcher reads it.
	JavaOptionsAbsent JavaOptions = "Absent"
	// JavaOptionsSet: it has one, and the launcher reads it.
	JavaOptionsSet JavaOptions = "Set"
	// JavaOptionsIgnored: the launcher does not read it: that of Java 8, or another one
	// than java.
	JavaOptionsIgnored JavaOptions = "Ignored"
)
