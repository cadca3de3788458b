package exporter

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// serviceConfiguration returns the Service as stated: without a selector, so that no other
// controller fills it, and without prometheus.io annotations, which would duplicate targets.
func serviceConfiguration(exporter *v1alpha1.PrometheusJmxExporter) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(selection.ServiceName(exporter), exporter.Namespace).
		WithLabels(serviceLabels(exporter)).
		WithOwnerReferences(ownedBy(exporter)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithPorts(corev1ac.ServicePort().WithName(portName).WithPort(servicePort(exporter)).WithProtocol(corev1.ProtocolTCP)))
}

// servicePort returns the port of the Service. That of a headless Service is
// informational; clients use those of the slices.
func servicePort(exporter *v1alpha1.PrometheusJmxExporter) int32 {
	return cmp.Or(exporter.Spec.Port, helperapi.FirstPort)
}

func sliceConfiguration(exporter *v1alpha1.PrometheusJmxExporter, was *discoveryv1.EndpointSlice, s slice) *discoveryv1ac.EndpointSliceApplyConfiguration {
	l := map[string]string(ours(exporter))
	l[discoveryv1.LabelServiceName] = selection.ServiceName(exporter)
	l[discoveryv1.LabelManagedBy] = selection.SliceManager
	port := discoveryv1ac.EndpointPort().WithName(portName).WithPort(s.port).WithProtocol(corev1.ProtocolTCP)
	if s.tls {
		port.WithAppProtocol(steps.SchemeTLS)
	}
	ac := discoveryv1ac.EndpointSlice(s.name, exporter.Namespace).
		WithLabels(l).
		WithOwnerReferences(ownedBy(exporter)).
		WithAddressType(s.family).
		WithPorts(port)
	if was != nil {
		ac.WithUID(was.UID)
	}
	for _, e := range s.endpoints {
		ac.WithEndpoints(discoveryv1ac.Endpoint().
			WithAddresses(e.Addresses...).
			WithNodeName(*e.NodeName).
			WithConditions(discoveryv1ac.EndpointConditions().
				WithReady(*e.Conditions.Ready).WithServing(*e.Conditions.Serving).WithTerminating(*e.Conditions.Terminating)).
			WithTargetRef(corev1ac.ObjectReference().
				WithKind(e.TargetRef.Kind).WithNamespace(e.TargetRef.Namespace).WithName(e.TargetRef.Name).WithUID(e.TargetRef.UID)))
	}
	return ac
}

func ours(exporter *v1alpha1.PrometheusJmxExporter) client.MatchingLabels {
	return client.MatchingLabels{v1alpha1.LabelExporterUID: string(exporter.UID)}
}

// serviceLabels returns labels that also allow selecting the Service without knowing the
// exporter's UID.
func serviceLabels(exporter *v1alpha1.PrometheusJmxExporter) map[string]string {
	l := map[string]string(ours(exporter))
	l[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	l[v1alpha1.LabelExporter] = selection.LabelValue(exporter.Name)
	return l
}

func ownedBy(exporter *v1alpha1.PrometheusJmxExporter) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("PrometheusJmxExporter").
		WithName(exporter.Name).WithUID(exporter.UID).WithController(true)
}
