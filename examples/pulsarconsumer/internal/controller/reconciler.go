// Package controller leads a PulsarConsumer through its phases: it reads what is there, takes
// the record back to where it is true, and walks on from there.
package controller

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
	ac "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1/applyconfiguration/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The field owners: one for each concern.
const (
	owner       client.FieldOwner = "pulsarconsumer-operator"
	ownerStatus client.FieldOwner = "pulsarconsumer-operator/status"
)

// Reconciler reconciles PulsarConsumers. All fields are required.
type Reconciler struct {
	Reader client.Reader
	// Image is that of the application where a PulsarConsumer names none.
	Image string
	Apply *apply.Client
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups=pulsar.pulsarconsumer.krvarma.com,resources=pulsarconsumers,verbs=get;list;watch
// +kubebuilder:rbac:groups=pulsar.pulsarconsumer.krvarma.com,resources=pulsarconsumers/status,verbs=patch
// +kubebuilder:rbac:groups=pulsar.pulsarconsumer.krvarma.com,resources=pulsarconsumers/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch

// Setup has a manager run the Reconciler.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.PulsarConsumer{}).
		// By its name, not by its owner: that somebody else's is gone is an event, too.
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(named)).
		// A pod is of the Deployment by its ReplicaSet, which may be seen later than the pod.
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(of)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(of)).
		Complete(r)
}

// named is the PulsarConsumer by whose name a Deployment is called.
func named(_ context.Context, deployment client.Object) []ctrl.Request {
	name, found := strings.CutSuffix(deployment.GetName(), deploymentOf(""))
	if !found {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: deployment.GetNamespace(), Name: name}}}
}

// of is the PulsarConsumer whose pods and ReplicaSets have such labels.
func of(_ context.Context, object client.Object) []ctrl.Request {
	name := object.GetLabels()["app.kubernetes.io/instance"]
	if name == "" || !labelsOf(name).AsSelector().Matches(labels.Set(object.GetLabels())) {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// Reconcile leads one PulsarConsumer as far as it comes.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := read(ctx, r.Reader, request.NamespacedName, r.Image)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	if cause := regress(s); cause != nil {
		if _, err := Plan.Regress(&s.state, *cause); err != nil {
			return ctrl.Result{}, err
		}
	}
	walk := statemachine.Walk[*site]{
		Plan: Plan, Steps: []statemachine.Step[*site]{deploy{r.Apply}, rollOut{}, consume{}}, Key: s.key(), KindOf: kindOf,
		Persist: func(ctx context.Context) error { return r.persist(ctx, s) }, Clock: r.Clock,
	}
	result, err := walk.Forward(ctx, s, &s.state, Consuming)
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
	stated, err := configuration[ac.PulsarConsumerStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	object := ac.PulsarConsumer(s.object.Name, s.object.Namespace).WithResourceVersion(s.object.ResourceVersion).WithStatus(stated)
	if err := r.Apply.Status(ctx, ownerStatus, apply.Name(s.object), object); err != nil {
		return err
	}
	s.object.Status, s.object.ResourceVersion = *status, *object.ResourceVersion
	return nil
}
