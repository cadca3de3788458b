package enqueue

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue adds to a controller's workqueue what controller-runtime's lacks.
//
// Shares: a write may hang in a webhook for one namespace, so the requests of a namespace
// occupy at most three times as many workers as are left: three quarters of them if it is
// alone. What finds none waits without a worker.
//
// Timers: a reconcile may fail and still follow again in time. controller-runtime ignores
// RequeueAfter beside an error, and retries with backoff only; here, what comes first counts.
//
// Liveness: reconciles that hang in this process are logged, and Check fails if none ends.
//
// Source must be among the sources of the controller that runs the returned Reconciler, with
// Options.
type Queue struct {
	// Workers is the controller's MaxConcurrentReconciles, and Timeout its
	// ReconciliationTimeout.
	Workers int
	Timeout time.Duration
	Clock   clock.PassiveClock
	// Waiting, if not nil, is set to the number of requests that wait without a worker.
	Waiting prometheus.Gauge
	// Gate decides which requests are reconciled; all if it is nil.
	Gate Gate
	// Held, if not nil, is called for a request that the Gate holds for a reason.
	Held func(context.Context, ctrl.Request, *Hold) error

	queue queue

	mu sync.Mutex
	// running are the workers, and granted the requests among theirs that are still in the
	// workqueue.
	running shares
	granted sets.Set[ctrl.Request]
	// waiting are the requests without a worker, by namespace, in order of arrival.
	waiting map[string][]parked
	waits   sets.Set[ctrl.Request]
	// moved is when a reconcile ended last, or the first one began.
	moved time.Time
	hangs hangs
}

// parked is a request that waits for a worker since a time.
type parked struct {
	ctrl.Request
	since time.Time
}

// Stalls reports whether requests of a namespace wait for a worker for longer than a moment,
// which is so only if what the workers do for it hangs.
func (q *Queue) Stalls(namespace string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.waiting[namespace]
	return len(waiting) > 0 && q.Clock.Since(waiting[0].since) > time.Second
}

// Source gives the Queue the controller's workqueue. It raises no events.
func (q *Queue) Source() source.Source {
	return source.Func(func(_ context.Context, w queue) error {
		q.queue = w
		return nil
	})
}

// RateLimiter returns a rate limiter for requests that failed with an error. One that waits
// for a worker keeps its backoff, although controller-runtime takes that for a success.
func (q *Queue) RateLimiter() workqueue.TypedRateLimiter[ctrl.Request] {
	return keptBackoff{RateLimiter(), q}
}

type keptBackoff struct {
	workqueue.TypedRateLimiter[ctrl.Request]
	q *Queue
}

// Forget implements workqueue.TypedRateLimiter.
func (k keptBackoff) Forget(request ctrl.Request) {
	k.q.mu.Lock()
	waits := k.q.waits.Has(request) || k.q.granted.Has(request)
	k.q.mu.Unlock()
	if !waits {
		k.TypedRateLimiter.Forget(request)
	}
}

// Reconciler returns r with shares and timers, for what the Gate lets through.
func (q *Queue) Reconciler(r reconcile.Reconciler) reconcile.Reconciler {
	q.running, q.waiting = shares{places: q.Workers, times: 3}, map[string][]parked{}
	q.granted, q.waits = sets.New[ctrl.Request](), sets.New[ctrl.Request]()
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		if result, passes, err := q.pass(ctx, request); !passes || err != nil {
			q.giveUp(request)
			return result, err
		}
		if !q.begin(request) {
			return ctrl.Result{}, nil
		}
		defer q.end(request.Namespace)
		defer q.hangs.watch(ctx, q.Timeout)()
		result, err := r.Reconcile(ctx, request)
		if err == nil {
			return result, nil
		}
		if result.RequeueAfter > 0 {
			q.queue.AddAfter(request, result.RequeueAfter)
		}
		return ctrl.Result{}, err
	})
}

// pass reports whether the Gate lets a request through, and else the result of its reconcile.
func (q *Queue) pass(ctx context.Context, request ctrl.Request) (ctrl.Result, bool, error) {
	if q.Gate == nil {
		return ctrl.Result{}, true, nil
	}
	if !q.Gate.Owns(request.Namespace) {
		return ctrl.Result{}, false, nil
	}
	hold, err := q.Gate.Hold(ctx, request.Namespace)
	if hold == nil || err != nil {
		return ctrl.Result{}, err == nil, err
	}
	if hold.Reason != "" && q.Held != nil {
		err = q.Held(ctx, request, hold)
	}
	if err != nil {
		q.queue.AddAfter(request, hold.RetryAfter)
		return ctrl.Result{}, false, err
	}
	return ctrl.Result{RequeueAfter: hold.RetryAfter}, false, nil
}

// begin takes a worker, or lets the request wait for one.
func (q *Queue) begin(request ctrl.Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idle() {
		q.moved = q.Clock.Now()
	}
	switch namespace := request.Namespace; {
	case q.granted.Has(request):
		q.granted.Delete(request)
	case q.running.room(namespace):
		q.running.take(namespace)
	default:
		if !q.waits.Has(request) {
			q.waits.Insert(request)
			q.waiting[namespace] = append(q.waiting[namespace], parked{request, q.Clock.Now()})
			q.count()
		}
		return false
	}
	return true
}

// giveUp gives a worker back that was granted to a request which has to wait for something else.
func (q *Queue) giveUp(request ctrl.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.granted.Has(request) {
		q.granted.Delete(request)
		q.free(request.Namespace)
	}
}

// end gives a worker back.
func (q *Queue) end(namespace string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moved = q.Clock.Now()
	q.free(namespace)
}

// free gives a worker back, and grants what is left to requests that wait: of the namespace
// with the fewest workers first. The caller holds q.mu.
func (q *Queue) free(namespace string) {
	q.running.free(namespace)
	for {
		next := ""
		for waiting := range q.waiting {
			if next == "" || q.running.taken[waiting] < q.running.taken[next] {
				next = waiting
			}
		}
		if next == "" || !q.running.room(next) {
			return
		}
		request := q.waiting[next][0].Request
		if q.waiting[next] = q.waiting[next][1:]; len(q.waiting[next]) == 0 {
			delete(q.waiting, next)
		}
		q.waits.Delete(request)
		q.count()
		q.granted.Insert(request)
		q.running.take(next)
		q.queue.Add(request)
	}
}

// count updates Waiting. The caller holds q.mu.
func (q *Queue) count() {
	if q.Waiting != nil {
		q.Waiting.Set(float64(len(q.waits)))
	}
}

// idle reports whether there is nothing to do. The caller holds q.mu.
func (q *Queue) idle() bool { return q.running.total == 0 && len(q.waits) == 0 }
