package v1alpha1

// Transport is how the operator reaches a container.
//
// +kubebuilder:validation:Enum=Auto;Exec;EphemeralContainer;Node
type Transport string

const (
	// TransportAuto is TransportNode on a node with a node agent that is ready, else
	// TransportExec if the container has a shell, and TransportEphemeralContainer otherwise.
	TransportAuto Transport = "Auto"
	// TransportExec executes the helper in the container.
	TransportExec Transport = "Exec"
	// TransportEphemeralContainer executes the helper in an additional ephemeral
	// container.
	TransportEphemeralContainer Transport = "EphemeralContainer"
	// TransportNode asks the operator's node agent on the pod's node (config/node).
	// Nothing is executed in the pod, and nothing is added to it.
	TransportNode Transport = "Node"
)
