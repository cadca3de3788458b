package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Mode is what an exporter does with its selected pods.
//
// +kubebuilder:validation:Enum=Attach;Preflight
type Mode string

const (
	// ModeAttach attaches to the pods.
	ModeAttach Mode = "Attach"
	// ModePreflight only inspects pods that no other exporter owns, and reports whether
	// they can be attached to.
	ModePreflight Mode = "Preflight"
)

// Preflight is what an exporter in mode Preflight found in the matched pods, as of their
// inspections.
type Preflight struct {
	// attachable is the number of attachable pods of the matched ones, such as 41/57. A
	// pod is attachable if one of its JVMs is.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Attachable string `json:"attachable"`
	// pending counts the matched pods that are not inspected yet.
	// +optional
	Pending int32 `json:"pending"`
	// reasons counts the pods that are neither attachable nor pending by reason, the
	// most frequent first, up to 20 reasons.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Reasons []PreflightReason `json:"reasons,omitempty"`
	// reasonsOmitted counts the pods whose reasons are not listed.
	// +optional
	ReasonsOmitted int32 `json:"reasonsOmitted,omitempty"`
	// transports counts the pods by transport: attachable pods, and pods that neither a
	// node agent nor an exec reaches, which need an EphemeralContainer. Preflight adds no ephemeral containers,
	// so it does not know what runs in the latter.
	// +optional
	// +listType=map
	// +listMapKey=transport
	// +kubebuilder:validation:MaxItems=8
	Transports []TransportCount `json:"transports,omitempty"`
	// memory is the memory found free below the memory limits.
	// +optional
	Memory *PreflightMemory `json:"memory,omitempty"`
	// loadWarnings counts the attachable pods with a JVM that writes the warning lines
	// of JEP 451 to the application's standard error when an agent is loaded.
	// +optional
	LoadWarnings int32 `json:"loadWarnings"`
	// upgradeWarnings counts the attachable pods with a JVM that writes these lines now,
	// or after an upgrade to Java 21 or later. A future version of Java refuses the load.
	// +optional
	UpgradeWarnings int32 `json:"upgradeWarnings"`
	// coveredAtNextStart counts those of upgradeWarnings whose successors write no such
	// lines, and are not refused, with spec.atNextStart AllowAttach and the admission
	// policy of config/next-start. A JVM that warns only after an upgrade, which is another
	// image, counts if the pod sets JDK_JAVA_OPTIONS.
	// +optional
	CoveredAtNextStart int32 `json:"coveredAtNextStart"`
}

// PreflightReason counts the pods with a reason.
type PreflightReason struct {
	// reason is why these pods are not attachable.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// count is the number of pods with this reason.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// pods are examples: the first three by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Pods []string `json:"pods,omitempty"`
	// message is the message of the first of these pods.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// TransportCount counts the pods that use a transport.
type TransportCount struct {
	// transport is how the operator reaches the helper.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Transport Transport `json:"transport"`
	// count is the number of pods.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
}

// PreflightMemory is the memory found free below the memory limits of JVMs.
type PreflightMemory struct {
	// minimum is the least free memory, rounded down to a multiple of 8Mi; absent if no
	// JVM has a limit.
	// +optional
	Minimum *resource.Quantity `json:"minimum,omitempty"`
	// pod is the pod of that JVM.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`
	// unlimited counts the pods with JVMs, none of which has a visible limit.
	// +optional
	Unlimited int32 `json:"unlimited"`
}
