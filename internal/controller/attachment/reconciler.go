// Package attachment reconciles one pod: it observes the pod, takes the record back to
// the last phase that still holds, and walks forward from there.
package attachment

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	Prober steps.Prober
	// Protection lists pods that the operator does not attach to.
	Protection steps.Protection
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

// Reconcile leads the pod of one JmxAttachment as far as possible.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var attachment v1alpha1.JmxAttachment
	err := r.Reader.Get(ctx, request.NamespacedName, &attachment)
	if apierrors.IsNotFound(err) {
		r.Health.Forget(request.NamespacedName)
	}
	if err != nil || !attachment.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	session := r.Sessions()
	defer session.Close()
	scope, err := r.observe(ctx, &attachment, session)
	if err != nil {
		return ctrl.Result{}, err
	}
	var result ctrl.Result
	switch {
	case scope == nil:
		result, err = r.detach(ctx, &attachment, session)
	case attachment.Status.DetachStartTime != nil && attachment.Spec.Revision != "":
		// The pod came back: the exporter controller first withdraws its old grant.
	default:
		result, err = r.visit(scope).attach(ctx)
	}
	switch {
	case apply.IsGone(err):
		return ctrl.Result{}, nil
	case apply.IsStale(err):
		return ctrl.Result{RequeueAfter: enqueue.ConflictRetry}, nil
	}
	return result, err
}
