// Package steps is the way of one pod to its metrics: the plan of its phases, the
// steps that bring them about or undo them, and the pure decision what no longer
// holds.
//
// Discovered, JavaFound and Annotated are the pod's. Staged, Loaded and Exposed are
// walked by each chosen JVM of the pod by itself.
package steps

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The phases, as the engine has them.
const (
	Pending    = statemachine.Phase(v1alpha1.PhasePending)
	Discovered = statemachine.Phase(v1alpha1.PhaseDiscovered)
	JavaFound  = statemachine.Phase(v1alpha1.PhaseJavaFound)
	Staged     = statemachine.Phase(v1alpha1.PhaseStaged)
	Loaded     = statemachine.Phase(v1alpha1.PhaseLoaded)
	Exposed    = statemachine.Phase(v1alpha1.PhaseExposed)
	Annotated  = statemachine.Phase(v1alpha1.PhaseAnnotated)
)

// The ways back, by what happened.
const (
	// Replaced: the container or the JVM was replaced, or others are chosen.
	Replaced = "replaced"
	// ConfigChanged: other files are wanted in the container.
	ConfigChanged = "configChanged"
	// AgentChanged: the agent is gone from the same JVM, or is out of date.
	AgentChanged = "agentChanged"
	// EndpointLost: the endpoint is silent, elsewhere, or missing in the EndpointSlices.
	EndpointLost = "endpointLost"
	// AnnotationLost: our annotations are no longer on the pod.
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

// PodSteps are the steps of the phases that are the pod's.
func PodSteps() []statemachine.Step[*Scope] {
	return []statemachine.Step[*Scope]{Discover{}, FindJava{}, Annotate{}}
}

// JVMSteps are the steps of the phases that each JVM walks by itself.
func JVMSteps() []statemachine.Step[*JVM] {
	return []statemachine.Step[*JVM]{Stage{}, Load{}, Expose{}}
}
