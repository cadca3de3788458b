package enqueue

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Timers let a reconcile fail and still follow again in time: controller-runtime ignores
// RequeueAfter beside an error, and retries with backoff only. What comes first counts.
//
// Source must be among the sources of the controller whose Reconciler Keep returns.
type Timers struct{ queue queue }

// Source gives the Timers the controller's queue. It raises no events.
func (t *Timers) Source() source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		t.queue = q
		return nil
	})
}

// Keep returns a Reconciler that enqueues what failed after its RequeueAfter, too.
func (t *Timers) Keep(r reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		result, err := r.Reconcile(ctx, request)
		if err == nil {
			return result, nil
		}
		if result.RequeueAfter > 0 {
			t.queue.AddAfter(request, result.RequeueAfter)
		}
		return ctrl.Result{}, err
	})
}
