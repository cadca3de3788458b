// Package controller leads a Skeleton through its phases: it reads what is there, takes
// the record back to where it is true, and walks on from there.
package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The field owners: one for each concern.
const (
	owner       client.FieldOwner = "skeleton-operator"
	ownerStatus client.FieldOwner = "skeleton-operator/status"
)

// Operator is this operator.
var Operator = operator.Operator{Name: string(owner), AddToScheme: v1alpha1.AddToScheme, Setup: setup}

// Reconciler reconciles Skeletons. All fields are required.
type Reconciler struct {
	Reader client.Reader
	Apply  *apply.Client
	Clock  clock.PassiveClock
}

// +kubebuilder:rbac:groups=example.com,resources=skeletons,verbs=get;list;watch
// +kubebuilder:rbac:groups=example.com,resources=skeletons/status,verbs=patch
// +kubebuilder:rbac:groups=example.com,resources=skeletons/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch

func setup(mgr ctrl.Manager) error {
	c := mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Skeleton{}).
		// By its name, not by its owner: that somebody else's is gone is an event, too.
		Watches(&appsv1.Deployment{}, &handler.EnqueueRequestForObject{}).
		Complete(reconcile.AsReconciler(c, &Reconciler{Reader: c, Apply: apply.New(c, effects.Direct), Clock: clock.RealClock{}}))
}

// Reconcile leads one Skeleton as far as it comes.
func (r *Reconciler) Reconcile(ctx context.Context, object *v1alpha1.Skeleton) (ctrl.Result, error) {
	deployment, err := deployments.Read(ctx, r.Reader, object, wanted(object))
	if err != nil || !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	s := &site{object, deployment}
	pass := operator.Pass[*site]{
		Vocabulary: &vocabulary, Status: r.Apply.StatusOf(ownerStatus, object), Record: &object.Status.Record, Observed: s.observed,
		Steps: []statemachine.Step[*site]{deploy{apply: r.Apply}, statemachine.Observe(RolledOut, (*site).notRolledOut)},
		Key:   deployment.Key(), Clock: r.Clock,
	}
	return pass.Reconcile(ctx, s, statemachine.Lost(
		statemachine.Check{Back: drifted, Lost: deployment.Drift}, statemachine.Check{Back: unavailable, Lost: s.notRolledOut}))
}
