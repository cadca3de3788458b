// Package attachment leads one pod through the phases: it reads what is there,
// takes the record back where it is no longer so, and runs the steps that are left.
package attachment

import (
	"cmp"
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/source"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Reconciler reconciles JmxAttachments. All fields are required.
type Reconciler struct {
	Reader client.Reader
	// Live reads from the API server, past the cache.
	Live      client.Reader
	Writer    *apply.Client
	Source    *source.Source
	Steps     []steps.Step
	Artifacts *steps.Artifacts
	// Helper stops the agents in pods that are taken out.
	Helper steps.Helper
	// Listener asks exposed endpoints now and then whether they are still there.
	Listener *Listener
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
}

// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=banzaicloud.com,resources=jmxattachments/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/exec,verbs=get;create

// Reconcile leads the pod of one JmxAttachment as far as it comes.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var attachment v1alpha1.JmxAttachment
	err := r.Reader.Get(ctx, request.NamespacedName, &attachment)
	if apierrors.IsNotFound(err) {
		r.Listener.Forget(request.NamespacedName)
	}
	if err != nil || !attachment.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	scope, err := r.observe(ctx, &attachment)
	if err != nil {
		return ctrl.Result{}, err
	}
	var result ctrl.Result
	if scope == nil {
		result, err = r.takeOut(ctx, &attachment)
	} else {
		w := r.walk(scope)
		result, err = w.run(ctx)
	}
	switch {
	case apply.IsGone(err) || apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case apply.IsStale(err):
		return ctrl.Result{RequeueAfter: enqueue.Anew}, nil
	}
	return result, err
}

// run goes back to where the record is still true, and from there on through
// the steps. The record is persisted before the next effect begins.
func (w *walk) run(ctx context.Context) (ctrl.Result, error) {
	w.begin()
	w.listen(ctx)
	look, changed := w.lookAgain(ctx)
	if changed {
		w.scope.Status().Attempt = nil // it was about others
	} else if err := w.tryAgain(ctx); err != nil {
		return ctrl.Result{}, err
	}
	buried := w.bury()
	if err := w.goBack(ctx, buried || changed); err != nil {
		return ctrl.Result{}, err
	}
	w.unwithdrawn = w.withdraw(ctx, buried)
	if w.unwithdrawn != nil && !steps.Refused(w.unwithdrawn) {
		return ctrl.Result{}, w.unwithdrawn // the record says why it must be, until it is
	}
	after, err := w.goOn(ctx)
	if err = cmp.Or(err, w.unwithdrawn); err != nil {
		return ctrl.Result{}, err
	}
	after = enqueue.Sooner(after, enqueue.Sooner(look, w.Listener.next(w.scope)))
	if tried, ok := w.untilTried(); ok {
		after = enqueue.Sooner(after, max(tried, queuedFor))
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// goOn runs the steps that are left, and tells when to come back without an
// event; 0 for never.
func (w *walk) goOn(ctx context.Context) (time.Duration, error) {
	for next, ok := w.machine.Phase().Next(); ok; next, ok = w.machine.Phase().Next() {
		step := w.step(next)
		if w.blocked() {
			return w.again(), w.persist(ctx)
		}
		switch closed := w.gate(step); {
		case closed != nil && w.unwithdrawn != nil: // the record goes on saying why it must be
			return 0, w.unwithdrawn
		case closed != nil:
			if err := w.record(ctx, step, *closed); err != nil || closed.Kind != steps.Retry {
				return 0, err
			}
			return w.again(), nil
		}
		if announcer, ok := step.(steps.Announcer); ok && announcer.Announce(w.scope) {
			if err := w.persist(ctx); err != nil {
				return 0, err
			}
		}
		outcome := w.ensure(ctx, step)
		if outcome.Reason == v1alpha1.ReasonQueued {
			return wait.Jitter(queuedFor, 1), nil
		}
		if err := w.record(ctx, step, outcome); err != nil {
			return 0, err
		}
		if outcome.Kind != steps.Done {
			return w.again(), nil
		}
	}
	return 0, w.persist(ctx)
}

func (w *walk) step(phase statemachine.Phase) steps.Step {
	i := slices.IndexFunc(w.Steps, func(s steps.Step) bool { return s.Phase() == phase })
	return w.Steps[i]
}
