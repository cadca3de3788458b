package attachment

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// takeOut undoes an attachment whose pod is gone or belongs to its exporter no
// more: the annotations, the endpoints, the agents, then the record. There is no
// finalizer, so that nothing ever blocks on it: a record whose exporter went while
// no operator ran is found and taken out by the next one.
//
// It looks past the cache first: one that is behind, as just after a start, must
// not cost a pod its annotations. A pod that is terminating is left to go, and the
// record of one that another exporter takes on goes over to it as it is.
func (r *Reconciler) takeOut(ctx context.Context, attachment *v1alpha1.JmxAttachment) (ctrl.Result, error) {
	found, err := subject(ctx, r.Live, attachment)
	if err != nil {
		return ctrl.Result{}, err
	}
	if found.owned(attachment) {
		return ctrl.Result{}, errors.New("the cache is behind: the pod still belongs to the exporter")
	}
	if found.owner != nil {
		return ctrl.Result{}, nil // who takes the record over
	}
	if found.pod != nil && found.pod.DeletionTimestamp.IsZero() {
		if waits, err := r.testify(ctx, attachment, found); err != nil {
			return ctrl.Result{}, err
		} else if waits {
			return ctrl.Result{RequeueAfter: testimony}, nil
		}
		if again, err := r.detach(ctx, attachment, found.pod); again > 0 || err != nil {
			return ctrl.Result{RequeueAfter: again}, err
		}
	}
	if err := r.Writer.Delete(ctx, attachment); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("taken out")
	return ctrl.Result{}, nil
}

// testimony is how long a record waits to be heard, before it looks whether it
// still has to.
const testimony = 5 * time.Second

// testify keeps the record of a pod that failed soon after an attach until the
// rollout has been stopped for it: a pod that is not restarted fails as a whole,
// and its record is all that tells.
func (r *Reconciler) testify(ctx context.Context, attachment *v1alpha1.JmxAttachment, found subjects) (waits bool, err error) {
	exporter, status := found.exporter, &attachment.Status
	if exporter == nil || found.pod.Status.Phase != corev1.PodFailed || !selection.Selects(exporter, found.pod) ||
		exporter.Status.Revision != attachment.Spec.Revision || exporter.Status.Halt != nil {
		return false, nil
	}
	s := &steps.Scope{Attachment: attachment, Pod: found.pod, Exporter: exporter, Now: r.now()}
	restart := restartOf(s, status.Processes, func(*v1alpha1.JavaProcess) bool { return true })
	if restart == nil || status.Restart != nil && *status.Restart == *restart {
		return restart != nil, nil
	}
	status.Restart, status.Revision = restart, attachment.Spec.Revision
	return true, r.Writer.AttachmentStatus(ctx, attachment, status)
}

// stillPublished tells whether an endpoint of the pod stands in a slice of the
// exporter that the record is of. Those of an exporter that is gone go with it.
func (r *Reconciler) stillPublished(ctx context.Context, attachment *v1alpha1.JmxAttachment, pod *corev1.Pod) bool {
	published, err := r.published(ctx, pod, attachment.Spec.Exporter.UID)
	return err == nil && len(published) > 0
}

// unpublishing is how long agents are left to serve what is being withdrawn.
const unpublishing = 5 * time.Second
