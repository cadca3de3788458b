package source

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
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

// Kept returns the inputs that the exporter had at a revision, with the configuration that
// was kept of it; nil if none is, or if exporter, Secret or operator ask for anything else
// than at that revision: a pod gets exactly what was rolled out to it, or nothing. This
// comparison also proves the content, which somebody else may have written. The error is that
// of a failed read, which is repeated after RetryKept.
func (s *Source) Kept(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, security steps.Security, revision string, artifacts *steps.Artifacts) (*steps.Inputs, error) {
	if revision == "" || security.Problem != nil {
		return nil, nil
	}
	config, err := s.revisions.configuration(ctx, revisionKey{client.ObjectKeyFromObject(exporter), selection.RevisionName(exporter, revision)})
	if config == nil || err != nil {
		return nil, err
	}
	inputs := &steps.Inputs{Config: steps.Input{Blob: *config}, Security: security}
	if steps.Revision(exporter, *inputs, artifacts) != revision {
		return nil, nil
	}
	return inputs, nil
}
