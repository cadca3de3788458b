package source

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Get returns the inputs of the exporter. If they are invalid, the Inputs have a
// Problem; the error is that of a failed read.
func (s *Source) Get(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter) (steps.Inputs, error) {
	config, err := s.config(ctx, exporter)
	if err != nil {
		return steps.Inputs{}, err
	}
	security, err := s.security(ctx, exporter)
	return steps.Inputs{Config: config, Security: security}, err
}
