package attachment

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// confirm reads the subjects of a record that is to be detached. Before the first effect
// it reads the pod, and the exporter that the record names, from the API server: a stale
// cache, as just after a start, must not cost a pod its annotations. All other exporters
// are read from the cache, and so is everything once the detach has begun, so that
// detaching a fleet is no load on the API server.
func (r *Reconciler) confirm(ctx context.Context, attachment *v1alpha1.JmxAttachment) (subjects, error) {
	found, err := subject(ctx, r.Reader, attachment)
	if err != nil || found.inherited(attachment) || attachment.Status.DetachStartTime != nil {
		return found, err
	}
	pod, err := podOf(ctx, r.Live, attachment)
	if err != nil || pod == nil {
		return subjects{}, err
	}
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := r.Reader.List(ctx, &exporters, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return subjects{}, err
	}
	name := attachment.Spec.Exporter.Name
	if name == "" { // nothing is left of it
		return among(exporters.Items, pod, attachment), nil
	}
	current := slices.DeleteFunc(exporters.Items, func(e v1alpha1.PrometheusJmxExporter) bool { return e.Name == name })
	var named v1alpha1.PrometheusJmxExporter
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, &named); {
	case err == nil:
		current = append(current, named)
	case !apierrors.IsNotFound(err):
		return subjects{}, err
	}
	return among(current, pod, attachment), nil
}
