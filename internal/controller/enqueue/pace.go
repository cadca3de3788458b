package enqueue

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Pace limits the rate of reconciles that many kinds of events trigger: after a quiet
// period, the first event is handled within Gather, later ones at most once per Period.
// It is safe for concurrent use, and must not be copied.
type Pace struct {
	Gather, Period time.Duration
	Clock          clock.PassiveClock

	mu  sync.Mutex
	due map[reconcile.Request]time.Time
}

// Paced handles events by enqueuing the requests of m at the pace of p.
func Paced[T client.Object](p *Pace, m Map[T]) handler.TypedEventHandler[T, reconcile.Request] {
	return handle(p.delay, m)
}

// delay returns the time until the next reconcile of the request, which may already be
// scheduled.
func (p *Pace) delay(request reconcile.Request) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	due, known := p.due[request]
	switch earliest := now.Add(p.Gather); {
	case known && due.After(now):
		return due.Sub(now)
	case known && due.Add(p.Period).After(earliest):
		due = due.Add(p.Period)
	default:
		maps.DeleteFunc(p.due, func(_ reconcile.Request, due time.Time) bool { return due.Add(p.Period).Before(now) })
		due = earliest
	}
	if p.due == nil {
		p.due = map[reconcile.Request]time.Time{}
	}
	p.due[request] = due
	return due.Sub(now)
}
