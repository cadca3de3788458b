package records

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// ExporterStatus applies the complete status of a PrometheusJmxExporter and updates its
// resourceVersion, so that it can be applied again. It returns a conflict if the object
// has changed since it was read.
func (w *Writer) ExporterStatus(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, status *v1alpha1.PrometheusJmxExporterStatus) error {
	stated, err := configuration[ac.PrometheusJmxExporterStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	object := ac.PrometheusJmxExporter(exporter.Name, exporter.Namespace).
		WithUID(exporter.UID).WithResourceVersion(exporter.ResourceVersion).WithStatus(stated)
	if err := w.client.Status(ctx, OwnerExporterStatus, apply.Name(exporter), object); err != nil {
		return err
	}
	exporter.ResourceVersion = *object.ResourceVersion
	return nil
}
