// Package controller leads a PulsarConsumer through its phases: it reads what is there, takes
// the record back to where it is true, and walks on from there.
package controller

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The field owners: one for each concern.
const (
	owner       client.FieldOwner = "pulsarconsumer-operator"
	ownerStatus client.FieldOwner = "pulsarconsumer-operator/status"
)

// Operator is this operator. The image is that of the application where a PulsarConsumer
// names none, and is read when the operator starts.
func Operator(image *string) operator.Operator {
	return operator.Operator{Name: string(owner), AddToScheme: v1.AddToScheme, Setup: func(mgr ctrl.Manager) error {
		return (&Reconciler{Image: *image, Clock: clock.RealClock{}}).setup(mgr)
	}}
}

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

func (r *Reconciler) setup(mgr ctrl.Manager) error {
	r.Reader, r.Apply = mgr.GetClient(), apply.New(mgr.GetClient(), effects.Direct)
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.PulsarConsumer{}).
		// By its name, not by its owner: that somebody else's is gone is an event, too.
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(named)).
		// A pod is of the Deployment by its ReplicaSet, which may be seen later than the pod.
		Watches(&appsv1.ReplicaSet{}, handler.EnqueueRequestsFromMapFunc(of)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(of)).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
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
func (r *Reconciler) Reconcile(ctx context.Context, object *v1.PulsarConsumer) (ctrl.Result, error) {
	deployment, err := deployments.Read(ctx, r.Reader, object, wanted(object, r.Image))
	if err != nil || !object.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	s := &site{object: object, deployment: deployment}
	if s.pods, err = podsOf(ctx, r.Reader, object, deployment); err != nil {
		return ctrl.Result{}, err
	}
	pass := operator.Pass[*site]{
		Vocabulary: &vocabulary, Status: r.Apply.StatusOf(ownerStatus, object), Record: &object.Status.Record, Observed: s.observed,
		Steps: []statemachine.Step[*site]{
			deploy{apply: r.Apply}, statemachine.Observe(RolledOut, (*site).notRolledOut), statemachine.Observe(Consuming, (*site).notConsuming),
		},
		Key: deployment.Key(), Clock: r.Clock,
	}
	return pass.Reconcile(ctx, s, s.lost())
}
