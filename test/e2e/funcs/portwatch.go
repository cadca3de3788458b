package funcs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// watchers are how many ask at the same time: one look takes about as long as
// the move.
const watchers = 4

// PortWatch asks the one pod of a namespace for its metrics, again and again
// while they move from one port to another.
type PortWatch struct {
	namespace string
	from, to  int32

	end  context.CancelFunc
	done sync.WaitGroup
	mu   sync.Mutex
	// old and moved count the looks at which the one port answered, or not it
	// but the other; silent are those at which none did.
	old, moved int
	silent     []error
}

// WatchPorts watches a pod's metrics move.
func WatchPorts(namespace string, from, to int32) *PortWatch {
	return &PortWatch{namespace: namespace, from: from, to: to}
}

// During watches while verbs run. At each look one of the ports must answer: the
// old one before, the new one alone afterwards.
func (w *PortWatch) During(verbs ...features.Func) features.Func {
	begin := verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pod := c.theOne(ctx, t, w.namespace)
		eventually(ctx, t, func(ctx context.Context) error {
			if err := w.look(ctx, c, pod); err != nil {
				return err
			}
			if w.old == 0 {
				return fmt.Errorf("port %d does not answer", w.from)
			}
			return nil
		})
		var watching context.Context
		watching, w.end = context.WithCancel(ctx)
		t.Cleanup(w.stop)
		for range watchers {
			w.done.Go(func() {
				for watching.Err() == nil {
					if err := w.look(watching, c, pod); err != nil && watching.Err() == nil {
						w.mu.Lock()
						w.silent = append(w.silent, fmt.Errorf("at %s: %w", time.Now().Format(time.TimeOnly), err))
						w.mu.Unlock()
					}
				}
			})
		}
		w.seen(ctx, t, &w.old)
	})
	finish := verb(func(ctx context.Context, t *testing.T, _ *cluster) {
		t.Helper()
		w.seen(ctx, t, &w.moved)
		w.stop()
		t.Logf("port %d answered at %d looks, only port %d at %d", w.from, w.old, w.to, w.moved)
		if err := errors.Join(w.silent...); err != nil {
			t.Errorf("neither port answered: %v", err)
		}
	})
	return All(append(append([]features.Func{begin}, verbs...), finish)...)
}

// seen waits until each watcher may have looked once more.
func (w *PortWatch) seen(ctx context.Context, t *testing.T, looks *int) {
	t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return *looks
	}
	from := count()
	eventually(ctx, t, func(context.Context) error {
		if n := count(); n < from+watchers {
			return fmt.Errorf("of ports %d and %d there were %d looks that matter, not %d", w.from, w.to, n, from+watchers)
		}
		return nil
	})
}

func (w *PortWatch) stop() {
	w.end()
	w.done.Wait()
}

// look asks the old port first: when it does not answer any more the new one
// must. Where there is no way to the pod nothing is learned.
func (w *PortWatch) look(ctx context.Context, c *cluster, pod *corev1.Pod) error {
	_, err := c.get(ctx, pod.Namespace, pod.Name, w.from, "/metrics")
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.old++
		return nil
	}
	w.mu.Lock()
	opened := w.moved > 0
	w.mu.Unlock()
	_, then := c.get(ctx, pod.Namespace, pod.Name, w.to, "/metrics")
	var again error
	if then != nil {
		// A port that is closed stays closed: where it answers now, the stream to it broke.
		_, again = c.get(ctx, pod.Namespace, pod.Name, w.from, "/metrics")
	}
	if then != nil && again != nil && opened {
		// One that had answered before listens: the stream to it broke, if it answers
		// now. Where none had, an answer now would hide that there was none before.
		_, then = c.get(ctx, pod.Namespace, pod.Name, w.to, "/metrics")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, errNoWay) || errors.Is(then, errNoWay):
	case then == nil:
		w.moved++
	case again == nil:
	default:
		return errors.Join(err, then)
	}
	return nil
}
