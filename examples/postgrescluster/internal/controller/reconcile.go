package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// pollInterval is how often the members are asked: PostgreSQL announces nothing.
const pollInterval = 2 * time.Second

// Reconcile leads one PostgresCluster as far as it comes.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	c, err := r.read(ctx, request.NamespacedName)
	if err != nil || c == nil {
		return ctrl.Result{}, err
	}
	c.pass = &operator.Pass[*cluster]{
		Vocabulary: &vocabulary, Status: r.Apply.StatusOf(ownerStatus, c.object), Record: &c.record.Record, Observed: c.setObserved,
		Steps: []statemachine.Step[*cluster]{
			seed{Reconciler: r}, promote{Reconciler: r}, synchronize{Reconciler: r}, serve{Reconciler: r}, complete{Reconciler: r},
		},
		Clock: r.Clock,
	}
	if c.object.Spec.Paused { // an event ends it
		c.record.PrimaryLostTime = nil                                             // it is waited for from then on
		if o := cmp.Or(r.ensureClaims(ctx, c), r.ensureSecret(ctx, c)); o != nil { // whoever deletes it now keeps what the spec says
			return ctrl.Result{}, errors.Join(cmp.Or(o.Err, errors.New(o.Message)), c.pass.Persist(ctx))
		}
		return ctrl.Result{}, c.pass.Persist(ctx)
	}
	if cause := c.lost(); cause != nil {
		if _, err := vocabulary.Plan.Regress(&c.record.State, *cause); err != nil {
			return ctrl.Result{}, err
		}
	}
	c.notePrimary()
	c.kept = r.ensureMembers(ctx, c)
	c.pass.Key = c.key()
	result, err := c.pass.Walk(ctx, c, nil)
	if err == nil { // what fails here is reported with the next look at the members
		_ = r.pacing.retries.Try(c.attempt("records", ""), c.now, func() *statemachine.Outcome { return r.keepRecords(ctx, c) })
	}
	if apply.IsGone(err) || apply.IsStale(err) { // an event follows
		return ctrl.Result{}, nil
	}
	if result.RequeueAfter == 0 || result.RequeueAfter > pollInterval {
		result.RequeueAfter = pollInterval
	}
	return ctrl.Result{RequeueAfter: result.RequeueAfter}, err
}

// notePrimary records when the primary was lost.
func (c *cluster) notePrimary() {
	switch {
	case c.record.Promotion == nil:
	case c.password == "": // nobody is asked
		c.record.PrimaryLostTime = nil
	case c.primary() != nil:
		c.record.PrimaryLostTime = nil
		c.record.Promotion.Timeline = c.primary().Timeline // records of earlier versions have none
	case c.record.PrimaryLostTime == nil && !c.primaryBusy():
		c.record.PrimaryLostTime = &metav1.Time{Time: c.now}
	}
}
