package v1alpha1

// Transport is how the operator reaches a container.
//
// +kubebuilder:validation:Enum=Auto;Exec;EphemeralContainer
type Transport string

const (
	// TransportAuto is TransportExec if the container has a shell, and
	// TransportEphemeralContainer otherwise.
	TransportAuto Transport = "Auto"
	// TransportExec executes the helper in the container.
	TransportExec Transport = "Exec"
	// TransportEphemeralContainer executes the helper in an additional ephemeral
	// container.
	TransportEphemeralContainer Transport = "EphemeralContainer"
)
