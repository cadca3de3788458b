package v1alpha1

// Phase is how far a pod has come. The phases are ordered; each is also the
// type of the condition that holds when it has been reached, and a phase holds
// only with all before it.
//
// +kubebuilder:validation:Enum=Pending;Discovered;JavaFound;Staged;Loaded;Exposed;Annotated;Refused
type Phase string

const (
	// PhasePending: no condition holds yet; for an exporter, no pod is matched.
	PhasePending Phase = "Pending"
	// PhaseDiscovered: the pod is matched and exactly one exporter owns it.
	PhaseDiscovered Phase = "Discovered"
	// PhaseJavaFound: a Java process that can be attached to is identified.
	PhaseJavaFound Phase = "JavaFound"
	// PhaseStaged: agent and configuration lie in the container, verified.
	PhaseStaged Phase = "Staged"
	// PhaseLoaded: our agent answers in that process with that configuration.
	PhaseLoaded Phase = "Loaded"
	// PhaseExposed: the endpoint answers and stands in an EndpointSlice.
	PhaseExposed Phase = "Exposed"
	// PhaseAnnotated: the pod carries the prometheus.io annotations, ours.
	PhaseAnnotated Phase = "Annotated"
	// PhaseRefused is an exporter's only: every matched pod is refused.
	PhaseRefused Phase = "Refused"
)

// Phases are the phases of a JmxAttachment after PhasePending, in their order.
func Phases() []Phase {
	return []Phase{PhaseDiscovered, PhaseJavaFound, PhaseStaged, PhaseLoaded, PhaseExposed, PhaseAnnotated}
}
