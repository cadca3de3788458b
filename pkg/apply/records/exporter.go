package records

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// ExporterStatus states the whole status of a PrometheusJmxExporter as it was
// read, and takes its new resourceVersion over, so that it can be stated again.
// One that has changed since is a conflict.
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
