package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/postgrescluster/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

// Operator returns the operator. The image is that of the members where a PostgresCluster names none,
// and is read when the operator starts.
func Operator(image *string) operator.Operator {
	return operator.Operator{Name: string(owner), AddToScheme: v1.AddToScheme, Setup: func(mgr ctrl.Manager) error {
		// The manager's client lists what it writes, to know that its cache has it; and the
		// operator has no right to list Secrets.
		live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
		if err != nil {
			return err
		}
		return (&Reconciler{
			Reader: mgr.GetClient(), Live: live, Apply: apply.New(mgr.GetClient(), effects.Direct), Seam: effects.Direct,
			Events: mgr.GetEventRecorder(string(owner)), Image: *image, Clock: clock.RealClock{}, pacing: newPacing(),
		}).setup(mgr)
	}}
}

// +kubebuilder:rbac:groups=lukeb0nd.com,resources=postgresclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=lukeb0nd.com,resources=postgresclusters/status,verbs=patch
// +kubebuilder:rbac:groups=lukeb0nd.com,resources=postgresclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods;services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

func (r *Reconciler) setup(mgr ctrl.Manager) error {
	named := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name, ok := object.GetLabels()["app.kubernetes.io/instance"]
		if !ok || object.GetLabels()["app.kubernetes.io/name"] != "postgrescluster" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1.PostgresCluster{}).
		Watches(&corev1.Pod{}, named).
		Watches(&corev1.Service{}, named).
		Watches(&corev1.PersistentVolumeClaim{}, named).
		Watches(&batchv1.CronJob{}, named).
		Watches(&policyv1.PodDisruptionBudget{}, named).
		// A reconcile waits for members that answer slowly; others do not wait for it.
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).
		Complete(r)
}
