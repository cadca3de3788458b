package enqueue

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A reconcile that fails follows again after its own time or the backoff, whichever is
// shorter. The controller and its queue are real.
func TestTimers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ after, backoff time.Duration }{
		"the timer comes first":   {10 * time.Millisecond, time.Hour},
		"the backoff comes first": {time.Hour, 10 * time.Millisecond},
		"there is no timer":       {0, 10 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reconciled := make(chan struct{})
			fails := reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
				select {
				case reconciled <- struct{}{}:
				case <-ctx.Done():
				}
				return ctrl.Result{RequeueAfter: tc.after}, errors.New("a record cannot be written")
			})
			var timers Timers
			c, err := controller.NewUnmanaged("test", controller.Options{
				Reconciler: timers.Keep(fails), SkipNameValidation: ptr.To(true),
				RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](tc.backoff, tc.backoff),
			})
			if err != nil {
				t.Fatal(err)
			}
			first := source.Func(func(_ context.Context, q queue) error {
				q.Add(reconcile.Request{})
				return nil
			})
			for _, s := range []source.Source{timers.Source(), first} {
				if err := c.Watch(s); err != nil {
					t.Fatal(err)
				}
			}
			go func() { _ = c.Start(t.Context()) }()
			for range 3 {
				select {
				case <-reconciled:
				case <-time.After(time.Minute):
					t.Fatal("the reconcile did not follow again")
				}
			}
		})
	}
}
