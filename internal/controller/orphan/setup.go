package orphan

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	crsource "sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// lookDelay is the time between an event and the check of a pod: by then, objects that
// are deleted together are gone, and so are annotations that a detach has just removed.
const lookDelay = time.Second

// workers is how many pods are reconciled at once.
const workers = 4

// name is the name of the controller.
const name = "orphan"

// Setup adds the Reconciler to the manager, with its event sources: pods, including all
// existing ones at the start; deleted records; and exporters that release pods.
func (r *Reconciler) Setup(mgr ctrl.Manager, gate enqueue.Gate) error {
	cache := mgr.GetCache()
	// A hang is only logged: few pods come here, so one that always hangs would let a liveness
	// check restart the operator for ever.
	queue := enqueue.Queue{Workers: workers, Timeout: time.Minute, Clock: r.Clock, Gate: gate, Waiting: metrics.Waiting(name)}
	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		WatchesRawSource(crsource.Kind(cache, &corev1.Pod{}, enqueue.After(lookDelay, ofPod))).
		WatchesRawSource(crsource.Kind(cache, &v1alpha1.JmxAttachment{}, enqueue.After(lookDelay, enqueue.Owned(gate, r.ofAttachment)))).
		WatchesRawSource(crsource.Kind(cache, &v1alpha1.PrometheusJmxExporter{}, enqueue.After(lookDelay, r.ofExporter))).
		WatchesRawSource(queue.Source()).
		WithOptions(queue.Options()).
		Complete(queue.Reconciler(r))
}

// ofPod maps a pod that is new to the operator, or whose labels or annotations changed.
// Status changes do not count: annotations that could not be removed in time stay, and
// their pod is not detached repeatedly.
func ofPod(_ context.Context, before, after **corev1.Pod) []reconcile.Request {
	if after == nil || before != nil && maps.Equal((*before).Labels, (*after).Labels) && maps.Equal((*before).Annotations, (*after).Annotations) {
		return nil
	}
	if !podfacts.OwnsAnnotations(*after) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(*after)}}
}

// ofAttachment maps a deleted record to its pod, unless its detach timed out: what is
// left then stays.
func (r *Reconciler) ofAttachment(_ context.Context, before, after **v1alpha1.JmxAttachment) []reconcile.Request {
	if after != nil {
		return nil
	}
	a := *before
	pod := client.ObjectKey{Namespace: a.Namespace, Name: a.Spec.Pod.Name}
	if began := a.Status.DetachStartTime; began != nil && r.Clock.Since(began.Time) >= a.Status.DetachTimeout.Duration && !queued(a) {
		r.lost.forget(pod)
		return nil
	}
	r.lost.note(pod, a)
	return []reconcile.Request{{NamespacedName: pod}}
}

// queued reports whether the detach of a pod waits for capacity to stop an agent:
// exceeding its timeout then says nothing about the pod.
func queued(a *v1alpha1.JmxAttachment) bool {
	return slices.ContainsFunc(a.Status.Processes, func(p v1alpha1.JavaProcess) bool { return record.MayHaveAgent(&p) && p.Attempt == nil })
}

// ofExporter maps an exporter that is deleted, or selects other pods, to the pods that
// it releases, whose records may be deleted at the same time.
func (r *Reconciler) ofExporter(ctx context.Context, before, after **v1alpha1.PrometheusJmxExporter) []reconcile.Request {
	if before == nil || !enqueue.SpecChanged(before, after) {
		return nil
	}
	var pods corev1.PodList
	if err := r.Reader.List(ctx, &pods, client.InNamespace((*before).Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list pods")
		return nil
	}
	return enqueue.Matching(pods.Items, func(pod *corev1.Pod) bool {
		return releases(before, after, pod) && (r.attached(pod) || podfacts.OwnsAnnotations(pod))
	})
}

// releases reports whether an exporter selected a pod and no longer does.
func releases(before, after **v1alpha1.PrometheusJmxExporter, pod *corev1.Pod) bool {
	return selection.Selects(*before, pod) && (after == nil || !(*after).DeletionTimestamp.IsZero() || !selection.Selects(*after, pod))
}
