// Package orphan finds attached pods that have neither a record nor an exporter, for
// example after `kubectl delete monitoring --all`: the pod has the annotation that only the
// operator may set, or a deleted record said that it has agents. It recreates the record
// without an exporter, and the attachment controller then detaches the pod like any other.
// From a pod with other annotations of the operator, these are removed, and nothing is
// executed in it: the name of a field manager proves nothing, since anybody may use it.
package orphan

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// Reconciler reconciles pods. All exported fields are required.
type Reconciler struct {
	Reader client.Reader
	// Live reads from the API server, past the cache.
	Live   client.Reader
	Writer *records.Writer
	Clock  clock.PassiveClock

	lost lost
}

// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=banzaicloud.com,resources=prometheusjmxexporters,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch

// Reconcile recreates the record of an orphaned pod. The cache may not have the record
// or the exporter yet, so the API server has to confirm its content.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var pod *corev1.Pod
	for _, from := range []client.Reader{r.Reader, r.Live} {
		var err error
		if pod, err = r.orphaned(ctx, from, request.NamespacedName); err != nil || pod == nil {
			return ctrl.Result{}, err
		}
	}
	if !r.attached(pod) {
		if err := r.Writer.PodAnnotations(ctx, pod, nil); !apply.IsGone(err) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, nil
	}
	_, err := r.Writer.Attachment(ctx, "", selection.AttachmentName(pod), pod, nil, "")
	if err == nil {
		r.lost.forget(request.NamespacedName)
		ctrl.LoggerFrom(ctx).Info("recreated the record to detach a pod without an exporter")
	} else if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		err = nil
	}
	return ctrl.Result{}, err
}

// orphaned reads a pod; it returns nil unless the pod has something of the operator and nothing
// exists that would ever detach it.
func (r *Reconciler) orphaned(ctx context.Context, from client.Reader, key client.ObjectKey) (*corev1.Pod, error) {
	var pod corev1.Pod
	switch err := from.Get(ctx, key, &pod); {
	case apierrors.IsNotFound(err):
		r.lost.forget(key)
		return nil, nil
	case err != nil:
		return nil, err
	case !pod.DeletionTimestamp.IsZero(), !r.attached(&pod) && !podfacts.OwnsAnnotations(&pod):
		r.lost.forget(key)
		return nil, nil
	}
	var record v1alpha1.JmxAttachment
	switch err := from.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: selection.AttachmentName(&pod)}, &record); {
	case err == nil:
		if knows(&record) {
			r.lost.forget(key)
		}
		return nil, nil
	case !apierrors.IsNotFound(err):
		return nil, err
	}
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := from.List(ctx, &exporters, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	if selection.Owner(exporters.Items, &pod) != nil { // which makes the record
		return nil, nil
	}
	return &pod, nil
}

// attached reports whether the operator attached to the pod, by what nobody else can say.
func (r *Reconciler) attached(pod *corev1.Pod) bool {
	return selection.Flagged(pod) || r.lost.in(pod)
}
