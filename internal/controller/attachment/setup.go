package attachment

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podcache"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
)

// Setup adds the Reconciler to the manager, with what makes it look: the record
// itself (its status aside, which only it writes), the pod, exporters of the
// namespace, their ConfigMaps, and the EndpointSlices.
func (r *Reconciler) Setup(mgr ctrl.Manager, concurrent int) error {
	cache := mgr.GetCache()
	return ctrl.NewControllerManagedBy(mgr).
		Named("jmxattachment").
		For(&v1alpha1.JmxAttachment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(crsource.Kind(cache, &corev1.Pod{}, enqueue.After(0, ofPod))).
		WatchesRawSource(crsource.Kind(cache, &v1alpha1.PrometheusJmxExporter{}, enqueue.After(0, r.ofNamespace))).
		WatchesRawSource(crsource.Kind(cache, source.Metadata(), enqueue.After(0, r.ofConfigMap))).
		WatchesRawSource(crsource.Kind(cache, &discoveryv1.EndpointSlice{}, enqueue.After(0, ofSlice))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrent,
			// An exec may take more than a minute, and there are several in a walk.
			ReconciliationTimeout: 5 * time.Minute,
			RateLimiter:           workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, maxBackoff),
		}).
		Complete(r)
}

func ofPod(_ context.Context, before, after **corev1.Pod) []reconcile.Request {
	if before != nil && after != nil && !podcache.Changed(*before, *after) {
		return nil
	}
	pod := enqueue.Present(before, after)[0]
	return []reconcile.Request{request(pod.Namespace, selection.AttachmentName(pod))}
}

// ofNamespace: a new, changed or deleted exporter may take pods from others or
// leave them.
func (r *Reconciler) ofNamespace(ctx context.Context, before, after **v1alpha1.PrometheusJmxExporter) []reconcile.Request {
	if before != nil && after != nil && (*before).Generation == (*after).Generation && (*before).DeletionTimestamp.Equal((*after).DeletionTimestamp) {
		return nil
	}
	return r.list(ctx, client.InNamespace(enqueue.Present(before, after)[0].Namespace))
}

func (r *Reconciler) ofConfigMap(ctx context.Context, before, after **metav1.PartialObjectMetadata) []reconcile.Request {
	configMap := enqueue.Present(before, after)[0]
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := r.Reader.List(ctx, &exporters, client.InNamespace(configMap.Namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list exporters")
		return nil
	}
	var requests []reconcile.Request
	for _, e := range exporters.Items {
		if e.Spec.Config.ConfigMapName == configMap.Name {
			requests = append(requests, r.list(ctx, client.InNamespace(e.Namespace),
				client.MatchingLabels{v1alpha1.LabelExporterUID: string(e.UID)})...)
		}
	}
	return requests
}

// ofSlice names the pods whose endpoints came or went.
func ofSlice(_ context.Context, before, after **discoveryv1.EndpointSlice) []reconcile.Request {
	in := map[types.NamespacedName]int{}
	for _, slice := range enqueue.Present(before, after) {
		for _, endpoint := range slice.Endpoints {
			if ref := endpoint.TargetRef; ref != nil {
				pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, UID: ref.UID}}
				in[types.NamespacedName{Namespace: slice.Namespace, Name: selection.AttachmentName(&pod)}]++
			}
		}
	}
	var requests []reconcile.Request
	for name, times := range in {
		if times == 1 {
			requests = append(requests, reconcile.Request{NamespacedName: name})
		}
	}
	return requests
}

func (r *Reconciler) list(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var attachments v1alpha1.JmxAttachmentList
	if err := r.Reader.List(ctx, &attachments, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list attachments")
		return nil
	}
	return enqueue.Requests(attachments.Items)
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
