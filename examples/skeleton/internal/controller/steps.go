package controller

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// deploy brings Deployed about. The owner reference has the Deployment collected.
type deploy struct {
	statemachine.NoUndo[*site]
	apply *apply.Client
}

func (deploy) Phase() statemachine.Phase { return Deployed }

// Ensure implements statemachine.Step.
func (d deploy) Ensure(ctx context.Context, s *site) statemachine.Outcome {
	if why := s.notDeployed(); why == nil || why.Kind == statemachine.Refused {
		return statemachine.DoneUnless(why)
	}
	wanted := s.wanted()
	if s.deployment != nil {
		wanted.WithUID(s.deployment.UID) // or a later one of its name would be taken over
	}
	err := d.apply.Object(ctx, owner, apply.Name(s.object), wanted)
	switch {
	case apply.IsGone(err):
		return *vocabulary.Because(ReasonDeploymentGone, "The Deployment is missing; recreating.", err)
	case apply.IsRejected(err):
		return *vocabulary.Because(ReasonDeploymentRefused, "The API server rejected the Deployment; see status.attempt.lastError.", err)
	case err != nil:
		return *vocabulary.Because(ReasonAPIError, "The Deployment could not be applied; see status.attempt.lastError.", err)
	}
	s.deployment = nil // what was read is older than what was written; an event brings the new one
	return statemachine.DoneUnless(nil)
}

// rollOut sees RolledOut come about, by the Deployment's controller.
type rollOut struct{ statemachine.Observing[*site] }

func (rollOut) Phase() statemachine.Phase { return RolledOut }

// Ensure implements statemachine.Step.
func (rollOut) Ensure(_ context.Context, s *site) statemachine.Outcome {
	return statemachine.DoneUnless(s.notRolledOut())
}
