package attachment

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/exec,verbs=get;create

// Reconcile leads the pod of one JmxAttachment as far as possible, or back to the start if
// it no longer belongs to its exporter.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	turn := r.Limits.Begin()
	attachment, err := r.attachment(ctx, request.NamespacedName)
	if attachment == nil || err != nil {
		return ctrl.Result{}, err
	}
	defer r.Limits.Pass(turn, request.Namespace, attachment.Spec.Pod.Name)
	session := r.Sessions()
	defer session.Close()
	v, err := r.observe(ctx, attachment, session)
	if v == nil || err != nil {
		return requeue(ctrl.Result{}, err)
	}
	return requeue(v.reconcile(ctx))
}

// reconcile makes one decision after another, and executes the moves of each.
func (v *visit) reconcile(ctx context.Context) (ctrl.Result, error) {
	for _, decide := range v.decisions {
		for v.again = true; v.again; {
			v.again = false
			moves, err := decide(v.Situation)
			if err != nil {
				return ctrl.Result{}, err
			}
			for _, move := range moves {
				if err := v.act(ctx, move); err != nil {
					return ctrl.Result{}, err
				}
			}
		}
		if v.ended {
			return ctrl.Result{RequeueAfter: v.after}, nil
		}
	}
	result, err := v.conclude(ctx)
	if err == nil && v.nodeAgentCame() {
		result.RequeueAfter = enqueue.Earliest(result.RequeueAfter, enqueue.ConflictRetry)
	}
	return result, err
}

// requeue returns what follows from the outcome of a reconcile: a record that is gone is
// done, and a stale one is read again.
func requeue(result ctrl.Result, err error) (ctrl.Result, error) {
	switch {
	case apply.IsGone(err):
		return ctrl.Result{}, nil
	case apply.IsStale(err):
		return ctrl.Result{RequeueAfter: enqueue.ConflictRetry}, nil
	}
	return result, err
}
