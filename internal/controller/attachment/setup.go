package attachment

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
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
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// name is the name of the controller.
const name = "jmxattachment"

// Setup adds the Reconciler to the manager, with its event sources: the record (except
// its status, which only this controller writes), the pod, exporters of the namespace,
// their ConfigMaps, the EndpointSlices, health checks, capacity for
// execs, and node agents.
func (r *Reconciler) Setup(mgr ctrl.Manager, gate enqueue.Gate, concurrent int) error {
	cache := mgr.GetCache()
	// An exec may take more than a minute, and a walk may need several.
	queue := enqueue.Queue{Workers: concurrent, Timeout: 5 * time.Minute, Clock: r.Clock, Gate: gate, Waiting: metrics.Waiting(name)}
	if err := mgr.AddHealthzCheck(name, queue.Check); err != nil {
		return err
	}
	build := ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&v1alpha1.JmxAttachment{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(crsource.Kind(cache, &corev1.Pod{}, enqueue.After(0, ofPod))).
		WatchesRawSource(crsource.Kind(cache, &v1alpha1.PrometheusJmxExporter{}, enqueue.After(0, r.ofExporter))).
		WatchesRawSource(crsource.Kind(cache, source.Metadata(), enqueue.After(0, r.ofConfigMap))).
		WatchesRawSource(crsource.Kind(cache, &discoveryv1.EndpointSlice{}, enqueue.After(0, ofSlice))).
		WatchesRawSource(r.Health.Source()).
		WatchesRawSource(r.room(queue.Stalls)).
		WatchesRawSource(queue.Source())
	if r.NodeAgents != nil {
		build.WatchesRawSource(agentsReady{r, clock.RealClock{}})
	}
	return build.WithOptions(queue.Options()).Complete(queue.Reconciler(r))
}

func ofPod(_ context.Context, before, after **corev1.Pod) []reconcile.Request {
	if before != nil && after != nil && !podcache.Changed(*before, *after) {
		return nil
	}
	pod := enqueue.Present(before, after)[0]
	return []reconcile.Request{request(pod.Namespace, selection.AttachmentName(pod))}
}

// ofExporter maps an exporter to its attachments, and to those of pods that it selects, or
// did: a new, changed or deleted exporter may take over or release them. A halt, a resume and
// a Secret that is mended concern its own only, and the end of a pause those that it kept from
// using their grant.
func (r *Reconciler) ofExporter(ctx context.Context, before, after **v1alpha1.PrometheusJmxExporter) []reconcile.Request {
	states := enqueue.Present(before, after)
	if !enqueue.SpecChanged(before, after) && !resumed(*before, *after) && secretValidity(*before) == secretValidity(*after) {
		return r.filter(ctx, states[0].Namespace, func(a *v1alpha1.JmxAttachment) bool {
			revision := a.Spec.Revision
			return a.Spec.Exporter.UID == states[0].UID && steps.Paused(*before, revision) && !steps.Paused(*after, revision)
		})
	}
	selected := sets.New[types.UID]()
	if enqueue.SpecChanged(before, after) {
		var pods corev1.PodList
		if err := r.Reader.List(ctx, &pods, client.InNamespace(states[0].Namespace), client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot list pods")
			return nil
		}
		for i := range pods.Items {
			if slices.ContainsFunc(states, func(e *v1alpha1.PrometheusJmxExporter) bool { return selection.Selects(e, &pods.Items[i]) }) {
				selected.Insert(pods.Items[i].UID)
			}
		}
	}
	return r.filter(ctx, states[0].Namespace, func(a *v1alpha1.JmxAttachment) bool {
		return a.Spec.Exporter.UID == states[0].UID || selected.Has(a.Spec.Pod.UID)
	})
}

// resumed reports whether the rollout of an exporter was halted or resumed.
func resumed(before, after *v1alpha1.PrometheusJmxExporter) bool {
	return steps.Resume(before) != steps.Resume(after) || !equality.Semantic.DeepEqual(before.Status.Halt, after.Status.Halt)
}

// secretValidity returns what the condition ConfigValid says of an exporter with a Secret;
// empty for others. Secrets raise no events, unlike ConfigMaps.
func secretValidity(exporter *v1alpha1.PrometheusJmxExporter) string {
	valid := meta.FindStatusCondition(exporter.Status.Conditions, v1alpha1.ConditionConfigValid)
	if exporter.Spec.EndpointSecurity == nil || valid == nil {
		return ""
	}
	return valid.Reason + ": " + valid.Message // which names the Secret also if the ConfigMap is invalid, too
}

func (r *Reconciler) ofConfigMap(ctx context.Context, before, after **metav1.PartialObjectMetadata) []reconcile.Request {
	configMap := enqueue.Present(before, after)[0]
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := r.Reader.List(ctx, &exporters, client.InNamespace(configMap.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list exporters")
		return nil
	}
	reads := map[types.UID]bool{}
	for _, e := range exporters.Items {
		reads[e.UID] = e.Spec.Config.ConfigMapName == configMap.Name
	}
	return r.filter(ctx, configMap.Namespace, func(a *v1alpha1.JmxAttachment) bool { return reads[a.Spec.Exporter.UID] })
}

// ofSlice maps a slice to the pods whose endpoints were added, removed or changed.
func ofSlice(_ context.Context, before, after **discoveryv1.EndpointSlice) []reconcile.Request {
	type place struct {
		attachment reconcile.Request
		address    string
	}
	in := map[place]int{}
	for _, slice := range enqueue.Present(before, after) {
		for _, endpoint := range slice.Endpoints {
			if ref := endpoint.TargetRef; ref != nil {
				pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, UID: ref.UID}}
				in[place{request(slice.Namespace, selection.AttachmentName(&pod)), endpoint.Addresses[0]}]++
			}
		}
	}
	var requests []reconcile.Request
	for p, times := range in {
		if times == 1 { // and not both before and after
			requests = append(requests, p.attachment)
		}
	}
	return requests
}

// filter returns requests for the matching attachments of a namespace.
func (r *Reconciler) filter(ctx context.Context, namespace string, match func(*v1alpha1.JmxAttachment) bool) []reconcile.Request {
	var attachments v1alpha1.JmxAttachmentList
	if err := r.Reader.List(ctx, &attachments, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list attachments")
		return nil
	}
	return enqueue.Matching(attachments.Items, match)
}
