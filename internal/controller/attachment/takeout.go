package attachment

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// takeOut undoes an attachment whose pod is gone or belongs to its exporter no
// more: the annotations, then the record, with which the exporter's controller
// drops the endpoint. There is no finalizer, so that nothing ever blocks on it:
// a record whose exporter went while no operator ran is found and taken out by
// the next one.
//
// It looks past the cache first: one that is behind, as just after a start, must
// not cost a pod its annotations. A pod that is terminating is left to go.
func (r *Reconciler) takeOut(ctx context.Context, attachment *v1alpha1.JmxAttachment) error {
	pod, exporter, err := subject(ctx, r.Live, attachment)
	if err != nil {
		return err
	}
	if exporter != nil {
		return errors.New("the cache is behind: the pod still belongs to the exporter")
	}
	if pod != nil && pod.DeletionTimestamp.IsZero() {
		if err := steps.Withdraw(ctx, r.Writer, pod); err != nil {
			r.tellNotWithdrawn(attachment, pod, err)
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
