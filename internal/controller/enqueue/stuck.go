package enqueue

import (
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Options returns the options of the controller that the Queue is for.
func (q *Queue) Options() controller.Options {
	return controller.Options{MaxConcurrentReconciles: q.Workers, ReconciliationTimeout: q.Timeout, RateLimiter: q.RateLimiter()}
}

// Check implements healthz.Checker: it fails if there is work, and none of it has ended since
// long after each should have, which only a restart of the operator ends. A reconcile that hangs
// while others end leaves them workers, and is no reason to disturb them.
func (q *Queue) Check(*http.Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	still := q.Clock.Since(q.moved)
	if q.idle() || still < q.Timeout+stuckAfter {
		return nil
	}
	return fmt.Errorf("no reconcile has ended for %s: %d are running, %d wait for a worker", still.Round(time.Second), q.running.total, len(q.waits))
}
