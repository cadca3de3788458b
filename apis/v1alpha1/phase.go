package v1alpha1

import "slices"

// Phase is the progress of a pod. Phases are ordered, and each is also the type of a
// condition. A phase holds only if all phases before it hold.
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
	// PhaseStaged: the agent and its configuration are in the container, and verified.
	PhaseStaged Phase = "Staged"
	// PhaseLoaded: the operator's agent serves that configuration in that process.
	PhaseLoaded Phase = "Loaded"
	// PhaseExposed: the endpoint answers and is listed in an EndpointSlice.
	PhaseExposed Phase = "Exposed"
	// PhaseAnnotated: the pod carries the operator's prometheus.io annotations.
	PhaseAnnotated Phase = "Annotated"
	// PhaseRefused is used for exporters only: every matched pod is refused.
	PhaseRefused Phase = "Refused"
)

// Phases returns the phases of a JmxAttachment after PhasePending, in order.
func Phases() []Phase {
	return []Phase{PhaseDiscovered, PhaseJavaFound, PhaseStaged, PhaseLoaded, PhaseExposed, PhaseAnnotated}
}

// Reached reports whether a pod or process in this phase has reached another one. It is
// false if either is no phase.
func (p Phase) Reached(other Phase) bool {
	order := append([]Phase{PhasePending}, Phases()...)
	at, to := slices.Index(order, p), slices.Index(order, other)
	return to >= 0 && at >= to
}
