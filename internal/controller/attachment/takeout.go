package attachment

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// takeOut undoes an attachment whose pod is gone or belongs to its exporter no
// more: the annotations, the agents, then the record, with which the exporter's
// controller drops the endpoints. There is no finalizer, so that nothing ever
// blocks on it: a record whose exporter went while no operator ran is found and
// taken out by the next one.
//
// It looks past the cache first: one that is behind, as just after a start, must
// not cost a pod its annotations. A pod that is terminating is left to go, and
// one that another exporter takes on keeps its agent and its annotations.
func (r *Reconciler) takeOut(ctx context.Context, attachment *v1alpha1.JmxAttachment) (ctrl.Result, error) {
	pod, owner, err := subject(ctx, r.Live, attachment)
	if err != nil {
		return ctrl.Result{}, err
	}
	if owns(owner, attachment) {
		return ctrl.Result{}, errors.New("the cache is behind: the pod still belongs to the exporter")
	}
	if pod != nil && owner == nil && pod.DeletionTimestamp.IsZero() {
		if err := steps.Withdraw(ctx, r.Writer, pod); err != nil {
			r.tellNotWithdrawn(attachment, pod, err)
			return ctrl.Result{}, err
		}
		if again, err := r.detach(ctx, attachment, pod); err != nil || again > 0 {
			return ctrl.Result{RequeueAfter: again}, err
		}
	}
	if err := r.Writer.Delete(ctx, attachment); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("taken out")
	return ctrl.Result{}, nil
}

// detach stops the agents in a pod. That it began stands in the record before,
// so that a pod that comes back is looked at anew. What does not stop is tried
// again until spec.detach.timeout is over; then it is told, and let go of.
func (r *Reconciler) detach(ctx context.Context, attachment *v1alpha1.JmxAttachment, pod *corev1.Pod) (again time.Duration, err error) {
	var agents []*v1alpha1.JavaProcess
	for i := range attachment.Status.Processes {
		if p := &attachment.Status.Processes[i]; steps.Ours(p) && steps.Runs(pod, p) {
			agents = append(agents, p)
		}
	}
	if len(agents) == 0 {
		return 0, nil
	}
	if err := r.stateDetaching(ctx, attachment, nil); err != nil {
		return 0, err
	}
	var left []*v1alpha1.JavaProcess
	var failure error
	for _, p := range agents {
		_, err := r.Helper.Run(ctx, steps.Target(pod, p.Container), attach.VerbUnload,
			attach.Request{Target: &attach.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)}})
		var known *transport.Error
		if errors.As(err, &known) && known.Reason == v1alpha1.ReasonQueued {
			return wait.Jitter(queuedFor, 1), nil
		}
		if err != nil {
			left, failure = append(left, p), err
		}
	}
	if failure == nil {
		r.tellDetached(attachment, pod, agents)
		return 0, nil
	}
	remaining := attachment.Status.DetachTimeout.Duration - r.Clock.Since(attachment.Status.DetachStartTime.Time)
	if remaining <= 0 {
		r.tellLeft(attachment, pod, left, failure)
		return 0, nil
	}
	if err := r.stateDetaching(ctx, attachment, failure); err != nil {
		return 0, err
	}
	return min(backoff(attachment.Status.Attempt.Count), remaining+time.Millisecond), nil
}

// stateDetaching states that the pod is being taken out, since when, and what
// keeps it.
func (r *Reconciler) stateDetaching(ctx context.Context, attachment *v1alpha1.JmxAttachment, failure error) error {
	before := attachment.Status.DeepCopy()
	status := &attachment.Status
	if status.DetachStartTime == nil {
		status.DetachStartTime, status.Attempt = new(metav1.NewTime(r.Clock.Now()).Rfc3339Copy()), nil
	}
	status.Reason = v1alpha1.ReasonDetaching
	message := "The pod is being taken out: its agents are told to stop."
	if failure != nil {
		message = fmt.Sprintf("The agent cannot be stopped: %s It is tried again for %s.", failure, status.DetachTimeout.Duration)
		attempt := &v1alpha1.Attempt{Key: v1alpha1.ReasonDetaching, Phase: status.Phase, Count: 1, LastError: text.Cut(failure.Error(), 1024)}
		if status.Attempt != nil {
			attempt.Count += status.Attempt.Count
		}
		status.Attempt = attempt
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching, Message: message,
		LastTransitionTime: metav1.NewTime(r.Clock.Now()).Rfc3339Copy(),
	})
	if equality.Semantic.DeepEqual(before, status) {
		return nil
	}
	return r.Writer.AttachmentStatus(ctx, attachment, status)
}
