package apply

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
)

// ExporterStatus states the whole status of a PrometheusJmxExporter as it was
// read, and takes its new resourceVersion over, so that it can be stated again.
// One that has changed since is a conflict.
func (c *Client) ExporterStatus(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, status *v1alpha1.PrometheusJmxExporterStatus) error {
	stated, err := configuration[ac.PrometheusJmxExporterStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	object := ac.PrometheusJmxExporter(exporter.Name, exporter.Namespace).
		WithUID(exporter.UID).WithResourceVersion(exporter.ResourceVersion).WithStatus(stated)
	if err := c.applyStatus(ctx, OwnerExporterStatus, key(exporter), object); err != nil {
		return err
	}
	exporter.ResourceVersion = *object.ResourceVersion
	return nil
}
