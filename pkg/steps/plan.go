// Package steps defines how a pod gets a metrics endpoint: the plan of its phases, the
// steps that bring them about or undo them, and the decisions, pure functions that answer
// with moves.
//
// Discovered, JavaFound and Annotated belong to the pod. Each selected JVM of the pod
// goes through Staged, Loaded and Exposed independently.
package steps

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The phases as types of the engine.
const (
	Pending    = statemachine.Phase(v1alpha1.PhasePending)
	Discovered = statemachine.Phase(v1alpha1.PhaseDiscovered)
	JavaFound  = statemachine.Phase(v1alpha1.PhaseJavaFound)
	Staged     = statemachine.Phase(v1alpha1.PhaseStaged)
	Loaded     = statemachine.Phase(v1alpha1.PhaseLoaded)
	Exposed    = statemachine.Phase(v1alpha1.PhaseExposed)
	Annotated  = statemachine.Phase(v1alpha1.PhaseAnnotated)
)

// The ways back.
const (
	// Replaced: the container or JVM was replaced, or other processes are selected.
	Replaced = "replaced"
	// ConfigChanged: the container needs different files.
	ConfigChanged = "configChanged"
	// AgentChanged: the agent is gone from the same JVM, or is out of date.
	AgentChanged = "agentChanged"
	// EndpointLost: the endpoint is silent, has moved, or is missing from the
	// EndpointSlices.
	EndpointLost = "endpointLost"
	// AnnotationLost: the operator's annotations are no longer on the pod.
	AnnotationLost = "annotationLost"
)

// Plan is the plan of a pod and of each of its JVMs.
var Plan = statemachine.MustPlan(Pending,
	[]statemachine.Stage{
		{Phase: Discovered, Transition: "discover"},
		{Phase: JavaFound, Transition: "findJava"},
		{Phase: Staged, Transition: "stage"},
		{Phase: Loaded, Transition: "load"},
		{Phase: Exposed, Transition: "expose"},
		{Phase: Annotated, Transition: "annotate"},
	},
	statemachine.WayBack{Name: Replaced, To: Discovered},
	statemachine.WayBack{Name: ConfigChanged, To: JavaFound},
	statemachine.WayBack{Name: AgentChanged, To: Staged},
	statemachine.WayBack{Name: EndpointLost, To: Loaded},
	statemachine.WayBack{Name: AnnotationLost, To: Exposed},
)
