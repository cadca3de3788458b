package operator

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Pass is one reconcile of an object whose status embeds a statemachine.Record. The steps
// get a subject S: what was read for the object. All fields except Observed are required.
type Pass[S any] struct {
	*statemachine.Vocabulary
	// Status persists the status of the object, as it was read.
	Status *apply.Status
	// Record is the one in that status.
	Record *statemachine.Record
	// Observed writes the rest of that status. It is called before each write, because
	// steps may have changed what was observed.
	Observed func()
	// Steps are the steps of the plan, in any order.
	Steps []statemachine.Step[S]
	// Key identifies everything that an attempt depends on: see statemachine.Attempt.
	Key   string
	Clock clock.PassiveClock
}

// Reconcile takes the record back for the cause, unless it is nil, and leads it from there as
// far along the plan as it comes. It returns no error for a write to an object that is
// gone or has changed since it was read, because an event follows.
func (p *Pass[S]) Reconcile(ctx context.Context, subject S, cause *statemachine.Cause) (ctrl.Result, error) {
	result, err := p.Walk(ctx, subject, cause)
	if apply.IsGone(err) || apply.IsStale(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: result.RequeueAfter}, err
}

// Walk is Reconcile for a caller that acts on what was persisted: it returns the error of
// such a write, too.
func (p *Pass[S]) Walk(ctx context.Context, subject S, cause *statemachine.Cause) (statemachine.Result, error) {
	if cause != nil {
		if _, err := p.Plan.Regress(&p.Record.State, *cause); err != nil {
			return statemachine.Result{}, err
		}
	}
	walk := statemachine.Walk[S]{
		Plan: p.Plan, Steps: p.Steps, Key: p.Key, KindOf: p.KindOf, Persist: p.Persist, Clock: p.Clock,
	}
	return walk.Forward(ctx, subject, &p.Record.State, p.Plan.Last())
}

// Persist writes the status if it differs from the one read or written last. Reconcile calls
// it; a step calls it for what must be in the record before its next effect.
func (p *Pass[S]) Persist(ctx context.Context) error {
	if p.Observed != nil {
		p.Observed()
	}
	p.Report(p.Record, p.Status.Object().GetGeneration(), p.Clock.Now())
	return p.Status.Write(ctx)
}
