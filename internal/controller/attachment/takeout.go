package attachment

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// takeOut undoes an attachment whose pod is gone or belongs to its exporter no
// more: the annotations, then the record, with which the exporter's controller
// drops the endpoint. There is no finalizer, so that nothing ever blocks on it:
// a record whose exporter went while no operator ran is found and taken out by
// the next one.
func (r *Reconciler) takeOut(ctx context.Context, attachment *v1alpha1.JmxAttachment, pod *corev1.Pod) error {
	if pod != nil {
		if err := steps.Withdraw(ctx, r.Writer, pod); err != nil {
			return err
		}
		r.tellLeft(attachment, pod)
	}
	if err := r.Writer.Delete(ctx, attachment); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("taken out")
	return nil
}
