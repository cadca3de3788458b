package attachment

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// podInputs are the inputs of one pod.
type podInputs struct {
	source.RevisionInputs
	// superseded reports whether they are those of an earlier revision than the one that is
	// being rolled out.
	superseded bool
	// retryAfter is the time after which to read what could not be read; 0 for nothing.
	retryAfter time.Duration
}

// inputs returns the inputs of a pod: those of its exporter or, if the rollout of these has not
// reached it, what is kept of the revision that it has. A pod that serves needs neither, so a
// failed read of what is kept stops nothing.
func (r *Reconciler) inputs(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, attachment *v1alpha1.JmxAttachment) (podInputs, error) {
	inputs, err := r.Source.Get(ctx, exporter)
	own, revision := source.RevisionInputs{Inputs: inputs, Exporter: exporter}, attachment.Spec.Revision
	if err != nil || steps.Revision(exporter, inputs, r.Artifacts) == revision {
		return podInputs{RevisionInputs: own}, err
	}
	kept, err := r.Source.Kept(ctx, exporter, inputs.Security, revision, r.Artifacts)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the last valid configuration")
		return podInputs{RevisionInputs: own, retryAfter: source.RetryKept}, nil
	case kept == nil || !has(&attachment.Status, revision, inputs, kept.Inputs, r.Artifacts):
		return podInputs{RevisionInputs: own}, nil
	}
	return podInputs{RevisionInputs: *kept, superseded: inputs.Problem() == nil}, nil
}

// has reports whether a pod has the revision that it was granted. If another one is being
// rolled out, there may be something wrong with this one, and it counts only if it is served, or
// was for long.
func has(status *v1alpha1.JmxAttachmentStatus, revision string, inputs, kept steps.Inputs, artifacts *steps.Artifacts) bool {
	return inputs.Problem() != nil && status.Revision == revision || steps.Keeps(status, revision, kept, artifacts)
}

// waits reports whether a process of the pod is not served.
func (v *visit) waits() bool {
	return v.Find(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded && !record.Serves(p) }) != nil
}
