package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Mode is what an exporter does with the pods that it selects.
//
// +kubebuilder:validation:Enum=Attach;Preflight
type Mode string

const (
	// ModeAttach attaches to the pods.
	ModeAttach Mode = "Attach"
	// ModePreflight only inspects the pods that no other exporter owns, and reports
	// whether they can be attached to.
	ModePreflight Mode = "Preflight"
)

// Preflight is what an exporter in mode Preflight found of the matched pods, as they
// were when they were inspected.
type Preflight struct {
	// attachable is attachable/matched, such as 41/57. A pod is attachable when one of
	// its JVMs is.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Attachable string `json:"attachable"`
	// pending counts the matched pods that are not inspected yet.
	// +optional
	Pending int32 `json:"pending"`
	// reasons counts the pods that are neither attachable nor pending by the reason why
	// not, the most frequent first: the first 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Reasons []PreflightReason `json:"reasons,omitempty"`
	// reasonsOmitted counts the pods with a reason beyond those listed.
	// +optional
	ReasonsOmitted int32 `json:"reasonsOmitted,omitempty"`
	// transports counts the pods by the transport that they take: the attachable ones,
	// and those without a shell, which are EphemeralContainer. Preflight adds no
	// ephemeral container, so what is in these is not known.
	// +optional
	// +listType=map
	// +listMapKey=transport
	// +kubebuilder:validation:MaxItems=8
	Transports []TransportCount `json:"transports,omitempty"`
	// memory is what was found free below the memory limits.
	// +optional
	Memory *PreflightMemory `json:"memory,omitempty"`
	// loadWarnings counts the attachable pods with a JVM that writes the warning lines
	// of JEP 451 to the application's standard error when an agent is loaded.
	// +optional
	LoadWarnings int32 `json:"loadWarnings"`
}

// PreflightReason counts the pods with a reason.
type PreflightReason struct {
	// reason is why they are not attachable.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// count is the number of pods with it.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// pods are examples: the first three by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Pods []string `json:"pods,omitempty"`
	// message is what the first of them says.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// TransportCount counts the pods that take a transport.
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

// PreflightMemory is what was found free below the memory limits of JVMs.
type PreflightMemory struct {
	// minimum is the least, rounded down to a multiple of 8Mi; absent when no JVM has a
	// limit.
	// +optional
	Minimum *resource.Quantity `json:"minimum,omitempty"`
	// pod is the one with that JVM.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod,omitempty"`
	// unlimited counts the pods with JVMs of which none has a limit that can be seen.
	// +optional
	Unlimited int32 `json:"unlimited"`
}
