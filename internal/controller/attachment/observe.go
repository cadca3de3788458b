package attachment

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// observe reads all that the steps look at; nil when the record is to be taken
// out: its pod is gone, or belongs to its exporter no more.
func (r *Reconciler) observe(ctx context.Context, attachment *v1alpha1.JmxAttachment) (*steps.Scope, error) {
	pod, exporter, err := subject(ctx, r.Reader, attachment)
	if err != nil || !owns(exporter, attachment) {
		return nil, err
	}
	config, err := r.Source.Get(ctx, exporter)
	if err != nil {
		return nil, err
	}
	published, err := r.published(ctx, pod, exporter)
	if err != nil {
		return nil, err
	}
	return &steps.Scope{
		Attachment: attachment, Pod: pod, Exporter: exporter, Config: config, Published: published,
		Granted: !exporter.Spec.Suspend && attachment.Spec.Revision == steps.Revision(exporter, config, r.Artifacts),
		Now:     metav1.NewTime(r.Clock.Now()).Rfc3339Copy(),
	}, nil
}

// subject reads the pod that the record is about, and the exporter that the pod
// belongs to now. Either is nil if it is not there. Exporters are only read, so
// they are not copied out of the cache: it would be most of what a look costs.
func subject(ctx context.Context, from client.Reader, attachment *v1alpha1.JmxAttachment) (*corev1.Pod, *v1alpha1.PrometheusJmxExporter, error) {
	var pod corev1.Pod
	err := from.Get(ctx, client.ObjectKey{Namespace: attachment.Namespace, Name: attachment.Spec.Pod.Name}, &pod)
	if err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	// A record under another name, made by hand, is a second one of its pod.
	if pod.UID != attachment.Spec.Pod.UID || selection.AttachmentName(&pod) != attachment.Name {
		return nil, nil, nil
	}
	var exporters v1alpha1.PrometheusJmxExporterList
	if err := from.List(ctx, &exporters, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, err
	}
	return &pod, selection.Owner(exporters.Items, &pod), nil
}

// owns tells whether the exporter is that of the record.
func owns(exporter *v1alpha1.PrometheusJmxExporter, attachment *v1alpha1.JmxAttachment) bool {
	return exporter != nil && exporter.UID == attachment.Spec.Exporter.UID
}

func (r *Reconciler) published(ctx context.Context, pod *corev1.Pod, exporter *v1alpha1.PrometheusJmxExporter) ([]steps.PublishedEndpoint, error) {
	var slices discoveryv1.EndpointSliceList
	if err := r.Reader.List(ctx, &slices, client.InNamespace(pod.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingLabels{v1alpha1.LabelExporterUID: string(exporter.UID)}); err != nil {
		return nil, err
	}
	var published []steps.PublishedEndpoint
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef == nil || endpoint.TargetRef.UID != pod.UID {
				continue
			}
			for _, port := range slice.Ports {
				if port.Port == nil { // somebody else's edit
					continue
				}
				published = append(published, steps.PublishedEndpoint{Address: endpoint.Addresses[0], Port: *port.Port})
			}
		}
	}
	return published, nil
}
