package steps

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// PodSteps returns the steps of the pod's own phases.
func PodSteps(with Tools) []statemachine.Step[*Situation] {
	return []statemachine.Step[*Situation]{Discover{}, FindJava{with}, Annotate{with}}
}

// JVMSteps returns the steps that each JVM goes through independently.
func JVMSteps(with Tools) []statemachine.Step[*JVM] {
	return []statemachine.Step[*JVM]{Stage{with}, Load{with}, Expose{with}}
}

// Discover holds as long as there is a Situation: a pod that is no longer matched, or
// belongs to another exporter, is detached instead.
type Discover struct{}

// Phase implements statemachine.Step.
func (Discover) Phase() statemachine.Phase { return Discovered }

// OnlyObserves implements statemachine.Observer.
func (Discover) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (Discover) Ensure(_ context.Context, s *Situation) statemachine.Outcome {
	s.Status().NodeName = s.Pod.Spec.NodeName
	return record.Done()
}

// Undo implements statemachine.Step. The record is deleted when its walk has arrived.
func (Discover) Undo(context.Context, *Situation) statemachine.Outcome { return record.Done() }
