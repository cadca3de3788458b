package exporter

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/podcache"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
)

// Events of an exporter's fleet are coalesced: status and slices, which grow with the
// fleet, are written soon after the first events of a quiet period, then at most once per
// period. Attaching to one pod fits into a burst: its record, its JVM and its endpoint are
// one event each.
const (
	gather = 100 * time.Millisecond
	period = time.Second
	burst  = 3
)

// workers is how many exporters are reconciled at once, three quarters of them of one
// namespace. Most of the time, all of them wait for the client, which limits the rate of
// requests for each kind. With few workers, an exporter waits for its turn behind those that
// create records, and publishes endpoints late; with many, its turns come sooner, so that each
// writes less. While 200 exporters attach to 2 000 pods (TestTurns), 95 % of the endpoints that
// answer are published after 74 s with 4 workers, 12 s with 32, 2 s with 64 and 1 s with 128,
// and a pod takes 6.6, 7.3, 7.6 and 8.0 requests.
const workers = 64

// name is the name of the controller.
const name = "prometheusjmxexporter"

// Setup adds the Reconciler to the manager, with its event sources: the exporter's spec,
// the pods, the attachments, the ConfigMaps, its own Services and EndpointSlices, logs that
// were read, and the gate.
func (r *Reconciler) Setup(mgr ctrl.Manager, gate enqueue.Gate) error {
	cache := mgr.GetCache()
	field, index := selection.IndexRecords()
	if err := cache.IndexField(context.Background(), &v1alpha1.JmxAttachment{}, field, index); err != nil { //nolint:forbidigo // nothing has been started yet
		return err
	}
	queue := enqueue.Queue{Workers: workers, Timeout: time.Minute, Clock: r.Clock, Gate: gate, Held: r.hold, Waiting: metrics.Waiting(name)}
	if err := mgr.AddHealthzCheck(name, queue.Check); err != nil {
		return err
	}
	r.progress.period = progressPeriod
	pace := &enqueue.Pace{Gather: gather, Period: period, Burst: burst, Clock: r.Clock}
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&v1alpha1.PrometheusJmxExporter{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(crsource.Kind(cache, &corev1.Pod{}, enqueue.Paced(pace, r.ofPod))).
		WatchesRawSource(crsource.Kind(cache, &v1alpha1.JmxAttachment{}, enqueue.Paced(pace, r.ofAttachment))).
		WatchesRawSource(crsource.Kind(cache, &v1alpha1.PrometheusJmxExporter{}, enqueue.Paced(pace, r.ofSibling))).
		WatchesRawSource(crsource.Kind(cache, &v1alpha1.PrometheusJmxExporter{}, enqueue.Paced(pace, r.stated.ofForeign))).
		WatchesRawSource(crsource.Kind(cache, source.Metadata(), enqueue.Paced(pace, r.ofConfigMap))).
		WatchesRawSource(crsource.Kind(cache, &corev1.Service{}, enqueue.Paced(pace, ofOwned[*corev1.Service]))).
		WatchesRawSource(crsource.Kind(cache, &discoveryv1.EndpointSlice{}, enqueue.Paced(pace, ofOwned[*discoveryv1.EndpointSlice]))).
		WatchesRawSource(r.Logs.Source(pace.Delay)).
		WatchesRawSource(r.ofGate(gate)).
		WatchesRawSource(queue.Source()).
		WithOptions(queue.Options()).
		Complete(queue.Reconciler(r))
}

func (r *Reconciler) ofPod(ctx context.Context, before, after **corev1.Pod) []reconcile.Request {
	if before != nil && after != nil && !podcache.Changed(*before, *after) {
		return nil
	}
	pods := enqueue.Present(before, after)
	return r.filter(ctx, pods[0].Namespace, func(e *v1alpha1.PrometheusJmxExporter) bool {
		return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return selection.Selects(e, pod) })
	})
}

// ofSibling maps an exporter to others of its namespace that select a pod which it selects,
// or did: a new, changed or deleted exporter may take over or release those.
func (r *Reconciler) ofSibling(ctx context.Context, before, after **v1alpha1.PrometheusJmxExporter) []reconcile.Request {
	if !enqueue.SpecChanged(before, after) {
		return nil
	}
	states := enqueue.Present(before, after)
	var pods corev1.PodList
	if err := r.Reader.List(ctx, &pods, client.InNamespace(states[0].Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list pods")
		return nil
	}
	shared := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		return !slices.ContainsFunc(states, func(e *v1alpha1.PrometheusJmxExporter) bool { return selection.Selects(e, &pod) })
	})
	return r.filter(ctx, states[0].Namespace, func(e *v1alpha1.PrometheusJmxExporter) bool {
		return e.UID != states[0].UID && slices.ContainsFunc(shared, func(pod corev1.Pod) bool { return selection.Selects(e, &pod) })
	})
}

func (r *Reconciler) ofConfigMap(ctx context.Context, before, after **metav1.PartialObjectMetadata) []reconcile.Request {
	configMap := enqueue.Present(before, after)[0]
	return r.filter(ctx, configMap.Namespace, func(e *v1alpha1.PrometheusJmxExporter) bool {
		return e.Spec.Config.ConfigMapName == configMap.Name
	})
}

// ofGate is a source of events: all exporters, whenever the gate holds everything or ceases to.
func (r *Reconciler) ofGate(gate enqueue.Gate) crsource.Source {
	return crsource.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		gate.OnChange(func() {
			for _, request := range r.filter(ctx, metav1.NamespaceAll, func(*v1alpha1.PrometheusJmxExporter) bool { return true }) {
				q.Add(request)
			}
		})
		return nil
	})
}

// ofOwned maps an object to the exporter that controls it.
func ofOwned[T client.Object](_ context.Context, before, after *T) []reconcile.Request {
	object := enqueue.Present(before, after)[0]
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name}}}
}

// filter returns requests for the matching exporters of a namespace.
func (r *Reconciler) filter(ctx context.Context, namespace string, match func(*v1alpha1.PrometheusJmxExporter) bool) []reconcile.Request {
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := r.Reader.List(ctx, &exporters, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list exporters")
		return nil
	}
	return enqueue.Matching(exporters.Items, match)
}
