package steps

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Discover holds as long as there is a Scope: a pod that is no longer matched, or
// belongs to another exporter, is detached instead.
type Discover struct{}

// Phase implements statemachine.Step.
func (Discover) Phase() statemachine.Phase { return Discovered }

// OnlyObserves implements statemachine.Observer.
func (Discover) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (Discover) Ensure(_ context.Context, s *Scope) statemachine.Outcome {
	s.Status().NodeName = s.Pod.Spec.NodeName
	return Done()
}

// Undo implements statemachine.Step. The record is deleted when its walk has arrived.
func (Discover) Undo(context.Context, *Scope) statemachine.Outcome { return Done() }
