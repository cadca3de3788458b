package enqueue

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// stuckAfter is how long a reconcile may go on after Timeout of the Queue has ended its context. Whatever it
// waits for outside of the process, such as a slow API server or webhook, ends with that. One
// that goes on nevertheless hangs in this process.
const stuckAfter = 5 * time.Minute

// hangs logs reconciles that hang.
type hangs struct{ now atomic.Int32 }

// watch logs a reconcile that hangs, once, unless ended is called before. The first one of those
// that hang at a time comes with the stacks of all goroutines: nothing is left of them after a
// restart.
func (h *hangs) watch(ctx context.Context, timeout time.Duration) (ended func()) {
	timer := time.AfterFunc(timeout+stuckAfter, func() {
		log := ctrl.LoggerFrom(ctx)
		if h.now.Add(1) == 1 {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			log = log.WithValues("goroutines", stacks.String())
		}
		log.Error(fmt.Errorf("it is still running %s after its deadline", stuckAfter), "reconcile hangs")
	})
	return func() {
		if !timer.Stop() {
			h.now.Add(-1)
		}
	}
}
