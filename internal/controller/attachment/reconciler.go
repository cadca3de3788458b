// Package attachment reconciles one pod in four verbs: it observes the pod, lets pkg/steps
// decide, acts by executing the moves that were decided for, and concludes: it turns the
// outcomes into conditions, Events, metrics and a requeue.
package attachment

import (
	"context"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/health"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Session runs the helper in the containers of one pod during one reconcile.
type Session interface {
	steps.Helper
	// Close ends the session in bounded time.
	Close()
}

// Sessions opens a Session for a reconcile; this alone executes nothing.
type Sessions func() Session

// Reconciler reconciles JmxAttachments. All fields but Transport and Protection are
// required.
type Reconciler struct {
	Reader client.Reader
	// Live reads from the API server, past the cache.
	Live      client.Reader
	Writer    *records.Writer
	Source    *source.Source
	Artifacts *steps.Artifacts
	// Transport is the transport that the operator may use; both if it is empty or Auto.
	Transport v1alpha1.Transport
	Sessions  Sessions
	// Limits limits concurrent probes, and announces capacity to pods that wait for a
	// Session or a probe.
	Limits Limits
	Prober probe.Prober
	// Protection lists pods that the operator does not attach to.
	Protection pod.Protection
	// Authority checks whether the user who wrote an exporter may attach.
	Authority steps.Authority
	// Health checks exposed endpoints periodically.
	Health   *health.Checker
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/exec,verbs=get;create

// Reconcile leads the pod of one JmxAttachment as far as possible, or back to the start if
// it no longer belongs to its exporter.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx, request.NamespacedName)
	if v == nil || err != nil {
		return requeue(ctrl.Result{}, err)
	}
	defer v.session.Close()
	return requeue(v.reconcile(ctx))
}

// reconcile makes one decision after another, and executes the moves of each.
func (v *visit) reconcile(ctx context.Context) (ctrl.Result, error) {
	for _, decide := range v.decisions {
		moves, err := decide(v.Situation)
		if err != nil {
			return ctrl.Result{}, err
		}
		for _, move := range moves {
			if err := v.act(ctx, move); err != nil {
				return ctrl.Result{}, err
			}
		}
		if v.held {
			return ctrl.Result{RequeueAfter: v.after}, nil
		}
	}
	return v.conclude(ctx)
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
