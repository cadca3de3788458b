package exporter

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// +kubebuilder:rbac:groups=banzaicloud.com,resources=prometheusjmxexporters,verbs=get;list;watch
// +kubebuilder:rbac:groups=banzaicloud.com,resources=prometheusjmxexporters/status,verbs=patch
// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods;configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices/restricted,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile ensures that every pod of the exporter has a record, that answering
// endpoints are published, and that the status summarizes them. It undoes nothing:
// attachments detach themselves, and Service and slices are owned by the exporter.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.reported.Delete(request)
	var exporter v1alpha1.PrometheusJmxExporter
	err := r.Reader.Get(ctx, request.NamespacedName, &exporter)
	if apierrors.IsNotFound(err) {
		r.Source.Forget(request.NamespacedName)
		r.written.forget(request.NamespacedName)
		r.Logs.Ask(request.NamespacedName, nil)
		r.kept.forget(request.NamespacedName)
		r.progress.forget(request.NamespacedName)
		r.stated.forget(request.NamespacedName)
	}
	if err != nil || !exporter.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	f, err := r.observe(ctx, &exporter)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := f.decide()
	again, failure := r.act(ctx, f, p)
	return r.conclude(ctx, f, enqueue.Earliest(p.again, again), failure)
}
