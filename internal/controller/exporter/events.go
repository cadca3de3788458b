package exporter

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/cached"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// ofAttachment maps a record to its exporter if a summarized field changed; for a
// deleted record, also to the exporter that its pod belongs to now, which recreates it.
func (r *Reconciler) ofAttachment(ctx context.Context, before, after **v1alpha1.JmxAttachment) []reconcile.Request {
	if before != nil && after != nil && equality.Semantic.DeepEqual(summed(*before), summed(*after)) {
		return nil
	}
	var names []string
	for _, a := range enqueue.Present(before, after) {
		names = append(names, a.Spec.Exporter.Name)
	}
	if after == nil {
		names = append(names, r.newOwner(ctx, *before)...)
	}
	var requests []reconcile.Request
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{
				Namespace: enqueue.Present(before, after)[0].Namespace, Name: name,
			}})
		}
	}
	return requests
}

// newOwner returns the name of the exporter that the record's pod belongs to; none if
// the pod does not exist.
func (r *Reconciler) newOwner(ctx context.Context, record *v1alpha1.JmxAttachment) []string {
	var pod corev1.Pod
	err := cached.Snapshot{Reader: r.Reader}.Get(ctx, client.ObjectKey{Namespace: record.Namespace, Name: record.Spec.Pod.Name}, &pod, client.UnsafeDisableDeepCopy)
	if err != nil {
		if client.IgnoreNotFound(err) != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot read a pod")
		}
		return nil
	}
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := r.Reader.List(ctx, &exporters, client.InNamespace(record.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list exporters")
		return nil
	}
	if owner := selection.Owner(exporters.Items, &pod); owner != nil {
		return []string{owner.Name}
	}
	return nil
}

// maxTries is the maximum number of tries that an exporter distinguishes: more than its
// rollout waits for.
const maxTries = 10

// summed returns a record without fields that change while its pod is reconciled and
// that no exporter uses: times and messages of tries, inspections and restores. It
// shares the rest with the record.
func summed(a *v1alpha1.JmxAttachment) v1alpha1.JmxAttachment {
	s := v1alpha1.JmxAttachment{Spec: a.Spec, Status: a.Status}
	status := &s.Status
	status.Restores = nil
	if status.Attempt != nil {
		status.Attempt = &v1alpha1.Attempt{Phase: status.Attempt.Phase, Count: min(status.Attempt.Count, maxTries)}
	}
	status.Containers = slices.Clone(status.Containers)
	for i := range status.Containers {
		c := &status.Containers[i]
		c.Attempt, c.Message = nil, ""
		if c.Time != nil {
			c.Time = &metav1.Time{}
		}
	}
	status.Processes = slices.Clone(status.Processes)
	for i := range status.Processes {
		p := &status.Processes[i]
		p.Attempt, p.Message, p.Warning = nil, "", ""
	}
	return s
}
