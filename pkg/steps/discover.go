package steps

import (
	"context"
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Discover holds as long as there is a Scope: a pod that is no longer matched,
// or belongs to another exporter, is taken out instead.
type Discover struct{}

// Phase implements Step.
func (Discover) Phase() statemachine.Phase { return statemachine.Discovered }

// Lost implements Step.
func (Discover) Lost(*Scope) statemachine.Event { return "" }

// Ensure implements Step.
func (Discover) Ensure(_ context.Context, s *Scope) Outcome {
	s.Status().NodeName = s.Pod.Spec.NodeName
	return Reached(Selects(s))
}

// Selects says which exporter the pod belongs to.
func Selects(s *Scope) string {
	return fmt.Sprintf("PrometheusJmxExporter %s selects the pod.", s.Exporter.Name)
}
