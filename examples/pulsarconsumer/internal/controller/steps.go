package controller

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// deploy is the step to Deployed. The owner reference has the Deployment collected.
type deploy struct {
	statemachine.NoUndo[*site]
	apply *apply.Client
}

func (deploy) Phase() statemachine.Phase { return Deployed }

// Ensure implements statemachine.Step.
func (d deploy) Ensure(ctx context.Context, s *site) statemachine.Outcome {
	outcome := s.deployment.Ensure(ctx, d.apply)
	if !s.deployment.Exists() {
		s.pods = nil
	}
	return outcome
}
