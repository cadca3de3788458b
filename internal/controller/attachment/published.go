package attachment

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

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
		if !controlledByExporter(&slice) {
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

// controlledByExporter reports whether a slice belongs to the exporter that its label
// names. The label alone proves nothing: the EndpointSlice controller copies it from any
// Service.
func controlledByExporter(slice *discoveryv1.EndpointSlice) bool {
	controller := metav1.GetControllerOfNoCopy(slice)
	return slice.Labels[discoveryv1.LabelManagedBy] == selection.SliceManager && // nobody else writes one of these: config/policies
		controller != nil && controller.Kind == "PrometheusJmxExporter" && string(controller.UID) == slice.Labels[v1alpha1.LabelExporterUID]
}
