package enqueue

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Pace limits the rate of reconciles that many kinds of events trigger: after a quiet
// period, the first Burst of them follow their events within Gather, later ones run at
// most once per Period. It is safe for concurrent use, and must not be copied.
type Pace struct {
	Gather, Period time.Duration
	Burst          int
	Clock          clock.PassiveClock

	mu    sync.Mutex
	paced map[reconcile.Request]*paced
}

// paced is the pace of one request, and when it was enqueued last.
type paced struct {
	*rate.Limiter
	due time.Time
}

// Paced handles events by enqueuing the requests of m at the pace of p.
func Paced[T client.Object](p *Pace, m Map[T]) handler.TypedEventHandler[T, reconcile.Request] {
	return handle(p.Delay, m)
}

// Delay returns the time until the next reconcile of the request, which may already be
// scheduled.
func (p *Pace) Delay(request reconcile.Request) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	of, known := p.paced[request]
	if known && of.due.After(now) {
		return of.due.Sub(now)
	}
	if !known {
		of = p.add(request, now)
	}
	earliest := now.Add(p.Gather)
	of.due = earliest.Add(of.ReserveN(earliest, 1).DelayFrom(earliest))
	return of.due.Sub(now)
}

// add adds a request, and drops those that have been quiet for so long that their next
// event is a first one.
func (p *Pace) add(request reconcile.Request, now time.Time) *paced {
	maps.DeleteFunc(p.paced, func(_ reconcile.Request, of *paced) bool {
		return !of.due.After(now) && of.TokensAt(now) == float64(p.Burst)
	})
	if p.paced == nil {
		p.paced = map[reconcile.Request]*paced{}
	}
	of := &paced{Limiter: rate.NewLimiter(rate.Every(p.Period), p.Burst)}
	p.paced[request] = of
	return of
}
