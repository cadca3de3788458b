package records

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// ExporterStatus applies the complete status of a PrometheusJmxExporter and updates its
// resourceVersion, so that it can be applied again. It returns a conflict if the object
// has changed since it was read.
func (w *Writer) ExporterStatus(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, status *v1alpha1.PrometheusJmxExporterStatus) error {
	return w.client.WholeStatus(ctx, OwnerExporterStatus, exporter, status)
}

// ExporterConditions applies the status that the exporter has, with other conditions. The exporter
// is as the API server returned it: an installed CustomResourceDefinition may lack fields of the
// type, with one of which an apply would be rejected, or have others, which an apply without them
// would remove.
func (w *Writer) ExporterConditions(ctx context.Context, exporter *unstructured.Unstructured, conditions []metav1.Condition) error {
	status, _, err := unstructured.NestedMap(exporter.Object, "status")
	if err != nil {
		return err
	}
	stated, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{conditions})
	if err != nil {
		return err
	}
	if status == nil {
		status = map[string]any{}
	}
	maps.Copy(status, stated)
	object := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	object.SetGroupVersionKind(exporter.GroupVersionKind())
	object.SetName(exporter.GetName())
	object.SetNamespace(exporter.GetNamespace())
	object.SetUID(exporter.GetUID())
	object.SetResourceVersion(exporter.GetResourceVersion())
	return w.client.Status(ctx, OwnerExporterStatus, apply.Name(exporter), client.ApplyConfigurationFromUnstructured(object))
}
