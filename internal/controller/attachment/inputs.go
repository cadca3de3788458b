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

// inputs returns the inputs of a pod: those of its exporter or, while its rollout has
// stopped, what the pod had before. A pod that serves needs neither, so a failed read of what
// is kept stops nothing; it returns the time after which to repeat it, 0 for never.
func (r *Reconciler) inputs(ctx context.Context, exporter *v1alpha1.PrometheusJmxExporter, attachment *v1alpha1.JmxAttachment) (inputs steps.Inputs, again time.Duration, err error) {
	inputs, err = r.Source.Get(ctx, exporter)
	if err != nil || !stopped(exporter, inputs) || !had(attachment) {
		return inputs, 0, err
	}
	kept, err := r.Source.Kept(ctx, exporter, inputs.Security, attachment.Spec.Revision, r.Artifacts)
	switch {
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "cannot read the last valid configuration")
		return inputs, source.RetryKept, nil
	case kept == nil:
		return inputs, 0, nil
	}
	return *kept, 0, nil
}

// stopped reports whether no pod gets the current inputs of the exporter: they are invalid,
// or their rollout was halted, or is paused.
func stopped(exporter *v1alpha1.PrometheusJmxExporter, inputs steps.Inputs) bool {
	restarts := exporter.Status.Restarts
	return inputs.Config.Problem != nil || exporter.Status.Halt != nil || restarts != nil && restarts.Paused
}

// had reports whether the pod has had its revision: that it was granted one is not enough.
func had(attachment *v1alpha1.JmxAttachment) bool {
	return attachment.Spec.Revision != "" && attachment.Status.Revision == attachment.Spec.Revision
}

// waits reports whether a process of the pod is not served.
func (v *visit) waits() bool {
	return v.Find(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded && !record.Serves(p) }) != nil
}
