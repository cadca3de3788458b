package enqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A reconcile that fails follows again after its own time or the backoff, whichever is
// shorter. The controller and its queue are real.
func TestTimersOfQueue(t *testing.T) {
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
			q := Queue{Workers: 4, Clock: clock.RealClock{}}
			c, err := controller.NewUnmanaged("test", controller.Options{
				Reconciler: q.Reconciler(fails), SkipNameValidation: new(true),
				RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](tc.backoff, tc.backoff),
			})
			if err != nil {
				t.Fatal(err)
			}
			first := source.Func(func(_ context.Context, q queue) error {
				q.Add(reconcile.Request{})
				return nil
			})
			for _, s := range []source.Source{q.Source(), first} {
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

// Reconciles that hang in one namespace leave workers to another, and each that waits for a
// worker has its turn.
func TestSharesOfQueue(t *testing.T) {
	t.Parallel()
	request := func(namespace, name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	begun, release := make(chan reconcile.Request, 100), make(chan struct{})
	hangs := reconcile.Func(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
		begun <- r
		if r.Namespace == "slow" {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return ctrl.Result{}, nil
	})
	q := Queue{Workers: 4, Clock: clock.RealClock{}}
	c, err := controller.NewUnmanaged("test", controller.Options{Reconciler: q.Reconciler(hangs), SkipNameValidation: new(true), MaxConcurrentReconciles: 4})
	if err != nil {
		t.Fatal(err)
	}
	events := source.Func(func(_ context.Context, w queue) error {
		for i := range 8 {
			w.Add(request("slow", fmt.Sprint(i)))
		}
		w.AddAfter(request("slow", "7"), 10*time.Millisecond) // once more, while it waits
		w.AddAfter(request("other", "a"), 100*time.Millisecond)
		return nil
	})
	for _, s := range []source.Source{q.Source(), events} {
		if err := c.Watch(s); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = c.Start(t.Context()) }()
	next := func() reconcile.Request {
		t.Helper()
		select {
		case r := <-begun:
			return r
		case <-time.After(time.Minute):
			t.Fatal("no reconcile began")
			return reconcile.Request{}
		}
	}
	first := []string{next().Namespace, next().Namespace, next().Namespace, next().Namespace}
	if want := []string{"slow", "slow", "slow", "other"}; !slices.Equal(want, first) {
		t.Fatalf("reconciles began in %v, want %v", first, want)
	}
	close(release)
	all := map[string]int{}
	for range 5 {
		all[next().Name]++
	}
	if len(all) != 5 {
		t.Errorf("reconciles of those that waited: %v, want one of each", all)
	}
	select {
	case r := <-begun:
		t.Errorf("a request that was added once more while it waited ran twice: %v", r)
	case <-time.After(100 * time.Millisecond): // enough for a second run to begin, if there is one
	}
}

// A request that fails keeps its backoff while its namespace has no worker for it, and is
// counted meanwhile.
func TestBackoffOfQueue(t *testing.T) {
	waiting := prometheus.NewGauge(prometheus.GaugeOpts{Name: "waiting", Help: "Number of requests that wait."})
	counted := func() float64 {
		var m dto.Metric
		if err := waiting.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetGauge().GetValue()
	}
	q := Queue{Workers: 4, Clock: clock.RealClock{}, Waiting: waiting}
	request := func(name string) ctrl.Request {
		return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: name}}
	}
	r := q.Reconciler(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil }))
	q.queue = workqueue.NewTypedRateLimitingQueue(q.RateLimiter())
	defer q.queue.ShutDown()
	limiter := q.RateLimiter()
	failing := request("fails")
	limiter.When(failing)
	limiter.When(failing)
	for _, name := range []string{"1", "2", "3"} { // as many as one namespace may have
		if !q.begin(request(name)) {
			t.Fatalf("%s has no worker", name)
		}
	}
	if result, err := r.Reconcile(t.Context(), failing); err != nil || !result.IsZero() || !q.waits.Has(failing) {
		t.Fatalf("the request does not wait: %v %v", result, err)
	}
	if n := counted(); n != 1 {
		t.Errorf("requests that wait: got %v, want 1", n)
	}
	limiter.Forget(failing) // as controller-runtime does
	q.end("a")
	if n := counted(); n != 0 {
		t.Errorf("requests that wait after one had a worker: got %v, want none", n)
	}
	limiter.Forget(failing)
	if n := limiter.NumRequeues(failing); n != 2 {
		t.Errorf("failures that are remembered: got %d, want 2", n)
	}
	if _, err := r.Reconcile(t.Context(), failing); err != nil {
		t.Fatal(err)
	}
	limiter.Forget(failing)
	if n := limiter.NumRequeues(failing); n != 0 {
		t.Errorf("failures that are remembered after a success: got %d, want none", n)
	}
}

// A namespace stalls while its requests wait for a worker, but not for the moment that each
// wait takes.
func TestStalls(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(1_000_000_000, 0))
	q := Queue{Workers: 4, Clock: clock}
	q.Reconciler(nil)
	slow := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "slow"}}
	for i := range 4 {
		slow.Name = fmt.Sprint(i)
		q.begin(slow) // the last one finds no worker
	}
	clock.SetTime(clock.Now().Add(time.Second))
	if q.Stalls("slow") {
		t.Error("a request that has just come stalls its namespace")
	}
	clock.SetTime(clock.Now().Add(time.Second))
	if !q.Stalls("slow") || q.Stalls("other") {
		t.Errorf("stalls: got %t for the namespace whose requests wait and %t for another, want the former only", q.Stalls("slow"), q.Stalls("other"))
	}
}
