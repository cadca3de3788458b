// Package controller leads a Skeleton through its phases: it reads what is there, takes
// the record back to where it is true, and walks on from there.
package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The field owners: one for each concern.
const (
	owner       client.FieldOwner = "skeleton-operator"
	ownerStatus client.FieldOwner = "skeleton-operator/status"
)

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

// Setup has a manager run the Reconciler.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Skeleton{}).
		// By its name, not by its owner: that somebody else's is gone is an event, too.
		Watches(&appsv1.Deployment{}, &handler.EnqueueRequestForObject{}).
		Complete(r)
}

// Reconcile leads one Skeleton as far as it comes.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := read(ctx, r.Reader, request.NamespacedName)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	if cause := regress(s); cause != nil {
		if _, err := Plan.Regress(&s.state, *cause); err != nil {
			return ctrl.Result{}, err
		}
	}
	walk := statemachine.Walk[*site]{
		Plan: Plan, Steps: []statemachine.Step[*site]{deploy{r.Apply}, rollOut{}}, Key: s.key(), KindOf: kindOf,
		Persist: func(ctx context.Context) error { return r.persist(ctx, s) }, Clock: r.Clock,
	}
	result, err := walk.Forward(ctx, s, &s.state, RolledOut)
	if apply.IsGone(err) || apply.IsStale(err) { // an event follows
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: result.RequeueAfter}, err
}

// persist writes the status if it differs from what was written last.
func (r *Reconciler) persist(ctx context.Context, s *site) error {
	status := s.status(metav1.NewTime(r.Clock.Now()))
	if equality.Semantic.DeepEqual(*status, s.object.Status) {
		return nil
	}
	stated, err := configuration[ac.SkeletonStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	object := ac.Skeleton(s.object.Name, s.object.Namespace).WithResourceVersion(s.object.ResourceVersion).WithStatus(stated)
	if err := r.Apply.Status(ctx, ownerStatus, apply.Name(s.object), object); err != nil {
		return err
	}
	s.object.Status, s.object.ResourceVersion = *status, *object.ResourceVersion
	return nil
}
