package apply

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
)

// ExporterStatus states the whole status of a PrometheusJmxExporter.
func (c *Client) ExporterStatus(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, status *v1alpha1.PrometheusJmxExporterStatus) error {
	stated, err := configuration[ac.PrometheusJmxExporterStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	return c.applyStatus(ctx, OwnerExporterStatus, key(exporter),
		ac.PrometheusJmxExporter(exporter.Name, exporter.Namespace).WithUID(exporter.UID).WithStatus(stated))
}
