package funcs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

// Apart asserts that so many JVMs of containers with this name are served on
// ports that were chosen, and no two on the same.
func (j *JVMs) Apart(container string, jvms int) features.Func {
	return verb(func(_ context.Context, t *testing.T, _ *cluster) {
		t.Helper()
		ports := map[int32]bool{}
		for _, s := range j.known {
			if s.where != container {
				continue
			}
			if ports[s.port] || s.port < attach.FirstPort {
				t.Errorf("port %d is another's, too, or not one to be chosen: %v", s.port, j.known)
			}
			ports[s.port] = true
		}
		if len(ports) != jvms {
			t.Errorf("%d ports are served, not %d: %v", len(ports), jvms, j.known)
		}
		t.Log(j.known)
	})
}

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
		pods, err := c.pods(ctx, w.namespace, label)
		if err != nil {
			t.Fatal(err)
		}
		if len(pods) != 1 {
			t.Fatalf("%d pods are there, not one", len(pods))
		}
		if err := w.look(ctx, c, &pods[0]); err != nil || w.old != 1 {
			t.Fatalf("port %d does not answer: %v", w.from, err)
		}
		var watching context.Context
		watching, w.end = context.WithCancel(ctx)
		t.Cleanup(w.stop)
		for range watchers {
			w.done.Go(func() {
				for watching.Err() == nil {
					if err := w.look(watching, c, &pods[0]); err != nil && watching.Err() == nil {
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
	_, then := c.get(ctx, pod.Namespace, pod.Name, w.to, "/metrics")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, errNoWay) || errors.Is(then, errNoWay):
	case then == nil:
		w.moved++
	default:
		return errors.Join(err, then)
	}
	return nil
}

// OperatorReplaced deletes the operator's pod, and waits until another one has
// looked at so many records. No feature runs beside this one.
func (s *Suite) OperatorReplaced(records int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		before, err := c.operator(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(ctx, before); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
				return err
			}
			now, err := c.operator(ctx)
			if err != nil {
				return err
			}
			if now.UID == before.UID {
				return errors.New("the operator is there as before")
			}
			s.operatorUID, s.restartsBefore, s.kills = string(now.UID), restarts(*now), 0
			measured, err := c.measured(ctx)
			if err != nil {
				return err
			}
			looked := measured.sum(`controller_runtime_reconcile_total{controller="jmxattachment"`)
			if waits := measured.sum(`workqueue_depth{controller="jmxattachment"`); looked < float64(records) || waits > 0 {
				return fmt.Errorf("the operator has looked at records %v times, %v wait", looked, waits)
			}
			return nil
		})
	})
}

// measures are the operator's own metrics.
type measures map[string]float64

// measured reads the operator's own metrics.
func (c *cluster) measured(ctx context.Context) (measures, error) {
	operator, err := c.operator(ctx)
	if err != nil {
		return nil, err
	}
	page, err := c.get(ctx, operator.Namespace, operator.Name, 8080, "/metrics")
	if err != nil {
		return nil, err
	}
	all := measures{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || i < 0 {
			continue
		}
		if all[line[:i]], err = strconv.ParseFloat(line[i+1:], 64); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return all, nil
}

// sum adds up the series that begin so.
func (m measures) sum(prefix string) float64 {
	var sum float64
	for series, value := range m {
		if strings.HasPrefix(series, prefix) {
			sum += value
		}
	}
	return sum
}
