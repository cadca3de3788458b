package controller

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

var done = statemachine.Outcome{Kind: statemachine.Done}

// fails is the outcome of a reason of the plan. What others say is cut to what the
// status takes.
func fails(reason, message string, err error) statemachine.Outcome {
	message = strings.ToValidUTF8(message[:min(len(message), 1024)], "")
	return statemachine.Outcome{Kind: kindOf(reason), Reason: reason, Message: message, Err: err}
}

// deploy brings Deployed about.
type deploy struct{ apply *apply.Client }

func (deploy) Phase() statemachine.Phase { return Deployed }

// Ensure implements statemachine.Step.
func (d deploy) Ensure(ctx context.Context, s *site) statemachine.Outcome {
	if s.foreign() {
		return fails(ReasonNameTaken, regress(s).Message, nil)
	}
	if s.deployment != nil && s.applied() {
		return done
	}
	wanted := s.wanted()
	if s.deployment != nil {
		wanted.WithUID(s.deployment.UID) // or a later one of its name would be taken over
	}
	err := d.apply.Object(ctx, owner, apply.Name(s.object), wanted)
	switch {
	case apply.IsGone(err):
		return fails(ReasonDeploymentGone, "The Deployment is missing; recreating.", err)
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		return fails(ReasonDeploymentRefused, "The API server rejected the Deployment; see status.attempt.lastError.", err)
	case err != nil:
		return fails(ReasonAPIError, "The Deployment could not be applied; see status.attempt.lastError.", err)
	}
	s.deployment = nil // what was read is older than what was written; an event brings the new one
	return done
}

// Undo implements statemachine.Step: the owner reference has the Deployment collected.
func (deploy) Undo(context.Context, *site) statemachine.Outcome { return done }

// rollOut brings RolledOut about, which the Deployment's controller does.
type rollOut struct{}

func (rollOut) Phase() statemachine.Phase { return RolledOut }

// OnlyObserves implements statemachine.Observer.
func (rollOut) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (rollOut) Ensure(_ context.Context, s *site) statemachine.Outcome {
	switch {
	case s.available():
		return done
	case s.deployment != nil && s.stuck() != "":
		return fails(ReasonRolloutStuck, "The Deployment failed to progress: "+s.stuck(), nil)
	}
	return fails(ReasonRollingOut, "Not all pods are available.", nil)
}

// Undo implements statemachine.Step.
func (rollOut) Undo(context.Context, *site) statemachine.Outcome { return done }
