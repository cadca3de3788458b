package transport

import (
	"sync"
	"time"

	"k8s.io/utils/lru"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Limits limits the number of concurrent sessions, since API Priority and Fairness does
// not count execs, and a kubelet serves all of them at once. Places are limited overall,
// per node, per namespace, and per namespace on a node, so that a namespace leaves room
// for others on each node. Limits is safe for concurrent use.
//
// A container that hangs does not take a place from others. A session whose container
// does not respond soon gives its place back, and waits without one. If the container
// responds after all, the session proceeds whether or not a place is free, and no other
// session begins until one is. A container that did not respond at all is retried without
// a place. A container that responded when last tried is exempt from the limit on waiting
// sessions, so that it is not queued behind a fleet that hangs. There are never more than
// SessionsPerPlace sessions for each place.
//
// Who finds no place waits in a queue, in which namespaces take turns, and in each of them
// its exporters. Who is woken has a place reserved for a moment: otherwise a newcomer takes
// it, or one of the thousands that try again.
//
// Probes of endpoints, which may be silent until they time out, have places of their own:
// as many as sessions, with the same shares.
type Limits struct {
	mu sync.Mutex
	shares
	queue
	// reserved are the places of pods that were woken, and reservations is their number so
	// far.
	reserved     map[waiting]*reserved
	reservations Turn
	// outcomes holds whether each container responded when last tried.
	outcomes *lru.Cache

	leftovers *leftovers
}

// maxOutcomes is how many containers are remembered. A container that is forgotten counts
// as never tried.
const maxOutcomes = 20_000

// NewLimits returns Limits with a number of places overall, on each node and in each
// namespace. A namespace has the same fraction of a node's places as it has of all places,
// rounded up.
func NewLimits(total, perNode, perNamespace int) *Limits {
	fraction := min((perNode*perNamespace+total-1)/total, perNode)
	return &Limits{
		shares: shares{
			places: [kinds]int{all: total, onNode: perNode, ofNamespace: perNamespace, ofNamespaceOnNode: fraction},
			taken:  map[state]map[share]int{fresh: {}, stalled: {}, retrying: {}, responded: {}, probing: {}},
		},
		reserved: map[waiting]*reserved{}, outcomes: lru.New(maxOutcomes), leftovers: newLeftovers(maxOutcomes),
	}
}

// reservation is how long a place is kept for a pod that was woken and has not come yet.
const reservation = 10 * time.Second

// reserved is a place that is kept for a pod.
type reserved struct {
	*place
	// number is the reservations made until then.
	number Turn
}

// Turn is a moment at which a reconcile of a pod begins: see Limits.Pass.
type Turn uint64

// OnRoom registers wake, which is called for each pod that found no place once there is
// one, so that they need not poll. The place is kept for the pod until it takes it, or Pass
// is called, for ten seconds at most; it is given to the next one if wake returns false,
// because the pod will not come soon. wake must not block.
func (l *Limits) OnRoom(wake func(namespace, pod string) (comes bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = wake
}

// OnWait registers count, which is called when a pod begins to wait for a place for a session
// or a probe, with 1, and when it ends, with -1. It must not block.
func (l *Limits) OnWait(count func(probes bool, change int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onWait = count
}

// Begin returns the turn of a reconcile that begins.
func (l *Limits) Begin() Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reservations
}

// Pass ends the turn of a pod: a place that was kept for it when the turn began, and that it
// did not take, goes to the next one. One that was reserved since is for its next turn.
func (l *Limits) Pass(turn Turn, namespace, pod string) {
	l.update(func() {
		for _, probes := range []bool{false, true} {
			id := waiting{namespace, pod, probes}
			if kept := l.reserved[id]; kept != nil && kept.number <= turn {
				l.drop(id, kept)
			}
		}
	})
}

// acquire takes a place for a session, or fails at once with ReasonQueued: a caller that
// waits here would keep a worker from pods on other nodes.
func (l *Limits) acquire(in Container) (*place, error) { return l.take(waiter{Container: in}) }

// Probe takes a place for a probe of an endpoint until done is called, or fails at once
// with ReasonQueued. done may be called more than once.
func (l *Limits) Probe(in Container) (done func(), err error) {
	p, err := l.take(waiter{Container: in, probes: true})
	if err != nil {
		return nil, err
	}
	return p.release, nil
}

func (l *Limits) take(w waiter) (*place, error) {
	l.mu.Lock()
	kept := l.reserved[w.id()]
	if kept != nil {
		l.drop(w.id(), kept)
	}
	of := l.classOf(w)
	if l.fit(of.first, of.responds, w.Container) {
		defer l.mu.Unlock()
		if m := l.members[w.id()]; m != nil && m.Name == w.Name { // else it still waits for another container
			l.dequeue(w.id())
		}
		return l.place(w.Container, of.first), nil
	}
	l.enqueue(w, of)
	l.mu.Unlock()
	if kept != nil { // it was for another container of the pod: for others there may be room
		l.update(func() {})
	}
	return nil, errQueued
}

// classOf returns how a session or probe begins. The caller holds l.mu.
func (l *Limits) classOf(w waiter) class {
	outcome, tried := l.outcomes.Get(w.Container.key())
	of := class{node: w.Node, first: fresh, responds: outcome == true}
	switch {
	case w.probes:
		of.first = probing
	case tried && !of.responds:
		of.first = retrying
	}
	return of
}

// place takes a place. The caller holds l.mu.
func (l *Limits) place(in Container, first state) *place {
	p := &place{Limits: l, in: in}
	p.move(first)
	return p
}

// update changes the places, then wakes the pods for which there is room.
func (l *Limits) update(change func()) {
	for change != nil {
		l.mu.Lock()
		change()
		next, wake := l.reserve(), l.wake
		l.mu.Unlock()
		change = nil
		var gone []*queued
		for _, woken := range next {
			if !wake(woken.Namespace, woken.Pod) {
				gone = append(gone, woken)
			}
		}
		if len(gone) > 0 {
			change = func() {
				for _, m := range gone {
					if kept := l.reserved[m.id()]; kept != nil {
						l.drop(m.id(), kept)
					}
				}
			}
		}
	}
}

// reserve takes places for the pods for which there is room, in the order of their turns,
// and returns them. The caller holds l.mu.
func (l *Limits) reserve() (next []*queued) {
	room := func(of class, in Container) bool { return l.fit(of.first, of.responds, in) }
	for m := l.next(room); m != nil; m = l.next(room) {
		l.reservations++
		id, kept := m.id(), &reserved{l.place(m.Container, m.class.first), l.reservations}
		l.reserved[id] = kept
		kept.timer = time.AfterFunc(reservation, func() {
			l.update(func() {
				if l.reserved[id] == kept {
					l.drop(id, kept)
				}
			})
		})
		next = append(next, m)
	}
	return next
}

// drop gives a reserved place back. The caller holds l.mu.
func (l *Limits) drop(id waiting, kept *reserved) {
	delete(l.reserved, id)
	kept.stopTimer()
	kept.move(ended)
}

// note records whether a container responded when it was tried.
func (l *Limits) note(in Container, responded bool) { l.outcomes.Add(in.key(), responded) }

var errQueued = &Error{Reason: v1alpha1.ReasonQueued, Message: "Exec concurrency limit reached."}

// place is the place in Limits that a session or probe holds.
type place struct {
	*Limits
	in    Container
	state state
	// timer marks the session as stalled; nil once its container has responded, or the
	// session has ended.
	timer *time.Timer
}

// stallAfter gives the place to others unless the container responds within d.
func (p *place) stallAfter(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimer()
	p.timer = time.AfterFunc(d, func() {
		p.update(func() {
			if p.timer != nil && p.state == fresh {
				p.move(stalled)
			}
		})
	})
}

// respond records that the container has responded.
func (p *place) respond() {
	p.update(func() {
		p.stopTimer()
		if p.state != ended {
			p.move(responded)
		}
	})
}

// end ends the session. If its command had begun, it records whether the command ended or
// is left in the container.
func (p *place) end(begun, ended bool) {
	if begun {
		p.leftovers.note(p.in, ended)
	}
	p.release()
}

// release ends the session or probe. Further calls have no effect.
func (p *place) release() {
	p.update(func() {
		p.stopTimer()
		p.move(ended)
	})
}

func (p *place) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

func (p *place) move(to state) {
	p.count(p.in, p.state, -1)
	p.state = to
	p.count(p.in, to, 1)
}
