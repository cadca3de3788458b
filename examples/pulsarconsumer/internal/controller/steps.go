package controller

import (
	"context"
	"fmt"
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
		return fails(ReasonDeploymentGone, regress(&site{object: s.object}).Message, err)
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		return fails(ReasonDeploymentRefused, "The API server rejected the Deployment; see status.attempt.lastError.", err)
	case err != nil:
		return fails(ReasonAPIError, "The Deployment could not be applied; see status.attempt.lastError.", err)
	}
	s.deployment, s.pods = nil, nil // what was read is older than what was written; an event brings the new one
	return done
}

// Undo implements statemachine.Step: the owner reference has the Deployment collected.
func (deploy) Undo(context.Context, *site) statemachine.Outcome { return done }

// observed is a step that others do: it looks, and has nothing to undo.
type observed struct{}

// OnlyObserves implements statemachine.Observer.
func (observed) OnlyObserves() {}

// Undo implements statemachine.Step.
func (observed) Undo(context.Context, *site) statemachine.Outcome { return done }

// rollOut sees RolledOut come about, by the Deployment's controller.
type rollOut struct{ observed }

func (rollOut) Phase() statemachine.Phase { return RolledOut }

// Ensure implements statemachine.Step.
func (rollOut) Ensure(_ context.Context, s *site) statemachine.Outcome {
	if s.updated() {
		return done
	}
	if reason, message := s.trouble(); reason != "" {
		return fails(reason, message, nil)
	}
	return fails(ReasonRollingOut, "The Deployment is replacing pods.", nil)
}

// consume sees Consuming come about, by the application.
type consume struct{ observed }

func (consume) Phase() statemachine.Phase { return Consuming }

// Ensure implements statemachine.Step.
func (consume) Ensure(_ context.Context, s *site) statemachine.Outcome {
	if s.consuming() {
		return done
	}
	if reason, message := s.trouble(); reason != "" {
		return fails(reason, message, nil)
	}
	return fails(ReasonSubscribing, fmt.Sprintf("Not all %d pods are subscribed.", *s.object.Spec.Replicas), nil)
}
