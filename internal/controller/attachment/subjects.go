package attachment

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// subjects are the objects that a record refers to, each nil if it does not exist.
type subjects struct {
	pod *corev1.Pod
	// exporter is the exporter that the record names.
	exporter *v1alpha1.PrometheusJmxExporter
	// owner is the exporter that the pod belongs to now.
	owner *v1alpha1.PrometheusJmxExporter
}

// owned reports whether the pod still belongs to the exporter of the record.
func (s subjects) owned(attachment *v1alpha1.JmxAttachment) bool {
	return s.owner != nil && s.owner.UID == attachment.Spec.Exporter.UID
}

// drains reports whether the pod is terminating, and its endpoints stay until it ends.
func (s subjects) drains(attachment *v1alpha1.JmxAttachment) bool {
	return s.pod != nil && s.exporter != nil && selection.Drains(s.exporter, s.pod, attachment)
}

// inherited reports whether another exporter takes over the record as it is.
func (s subjects) inherited(attachment *v1alpha1.JmxAttachment) bool {
	return s.owner != nil && selection.Inherits(s.owner, attachment)
}

// subject reads the objects that the record refers to. Exporters are only read, so they
// are not copied out of the cache, which would be most of the cost.
func subject(ctx context.Context, from client.Reader, attachment *v1alpha1.JmxAttachment) (subjects, error) {
	pod, err := podOf(ctx, from, attachment)
	if err != nil || pod == nil {
		return subjects{}, err
	}
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := from.List(ctx, &exporters, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return subjects{}, err
	}
	return among(exporters.Items, pod, attachment), nil
}

// podOf returns the pod of a record; nil if it is gone.
func podOf(ctx context.Context, from client.Reader, attachment *v1alpha1.JmxAttachment) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := from.Get(ctx, client.ObjectKey{Namespace: attachment.Namespace, Name: attachment.Spec.Pod.Name}, &pod)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	// A record with a different name was created by hand, as a second one for its pod.
	if pod.UID != attachment.Spec.Pod.UID || selection.AttachmentName(&pod) != attachment.Name {
		return nil, nil
	}
	return &pod, nil
}

// among returns the record's subjects, given the exporters of its namespace.
func among(exporters []v1alpha1.PrometheusJmxExporter, pod *corev1.Pod, attachment *v1alpha1.JmxAttachment) subjects {
	found := subjects{pod: pod, owner: selection.OwnerOf(exporters, pod, attachment)}
	for i := range exporters {
		if exporters[i].UID == attachment.Spec.Exporter.UID {
			found.exporter = &exporters[i]
		}
	}
	return found
}

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

// published returns the pod's endpoints in the slices of an exporter, or in those of all
// exporters if the exporter is unknown.
func (r *Reconciler) published(ctx context.Context, pod *corev1.Pod, exporter types.UID) ([]steps.PublishedEndpoint, error) {
	var of client.ListOption = client.HasLabels{v1alpha1.LabelExporterUID}
	if exporter != "" {
		of = client.MatchingLabels{v1alpha1.LabelExporterUID: string(exporter)}
	}
	var slices discoveryv1.EndpointSliceList
	if err := r.Reader.List(ctx, &slices, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy, of); err != nil {
		return nil, err
	}
	var published []steps.PublishedEndpoint
	for _, slice := range slices.Items {
		if !selection.OwnSlice(&slice) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef == nil || endpoint.TargetRef.UID != pod.UID {
				continue
			}
			for _, port := range slice.Ports {
				if port.Port == nil { // somebody else's edit
					continue
				}
				published = append(published, steps.PublishedEndpoint{
					Address: endpoint.Addresses[0], Port: *port.Port, TLS: ptr.Deref(port.AppProtocol, "") == steps.SchemeTLS,
				})
			}
		}
	}
	return published, nil
}
