package transport

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Limits bounds the sessions under way: API Priority and Fairness does not count
// execs, and a kubelet serves them all at once. A node and a namespace have a share
// of them, and a namespace has a share of those of a node, so that it leaves room there
// to others.
//
// A container that hangs keeps no place from others: a session whose container does
// not respond soon gives its place back, and waits beside those that work. When the
// container responds after all, the session works whether or not a place is free, and
// no other begins until one is. A container that did not respond at all is tried again
// without a place. One that responded when last tried needs no room to wait: it is not
// queued behind a fleet that hangs. There are never more sessions than SessionsPerPlace
// for each place.
//
// Probes of endpoints, which may be silent until they time out, have places of their
// own, as many as sessions, in the same shares.
type Limits struct {
	places map[string]int // by the kind of a share

	mu sync.Mutex
	// waiting found no place, in order of arrival.
	waiting []waiter
	wake    func(namespace, pod string)
	taken   map[state]map[share]int
	// outcomes are whether containers responded when last tried, by their keys.
	outcomes *lru.Cache

	leftovers *leftovers
}

const (
	// waitingPerPlace is how many sessions may wait for the first response of their
	// containers, for each place: enough that those that hang leave room to others.
	waitingPerPlace = 2
	// SessionsPerPlace is how many sessions there are at most for each place, those
	// that wait and those that work.
	SessionsPerPlace = waitingPerPlace + 1
	// WorkersPerPlace is how many sessions and probes there are at most for each place.
	WorkersPerPlace = SessionsPerPlace + 1
	// maxOutcomes bounds the memory for containers. What is forgotten is a container
	// that was never tried.
	maxOutcomes = 20_000
)

// share is what is bounded: all sessions, those on a node, those in a namespace, and
// those of the namespace on the node.
type share struct{ kind, name string }

func sharesOf(in Container) [4]share {
	return [...]share{{kind: "all"}, {"node", in.Node}, {"namespace", in.Namespace}, {"namespace on node", in.Namespace + "/" + in.Node}}
}

// NewLimits returns a number of places for sessions in all, on each node and in each
// namespace, which has the same part of those of a node as it has of all, rounded up.
func NewLimits(all, perNode, perNamespace int) *Limits {
	onNode := min((perNode*perNamespace+all-1)/all, perNode)
	return &Limits{
		places:   map[string]int{"all": all, "node": perNode, "namespace": perNamespace, "namespace on node": onNode},
		taken:    map[state]map[share]int{fresh: {}, stalled: {}, retrying: {}, responded: {}, probing: {}},
		outcomes: lru.New(maxOutcomes), leftovers: newLeftovers(),
	}
}

// acquire takes a place for a session, or fails at once with ReasonQueued: who waits
// here would keep a worker from the pods of other nodes.
func (l *Limits) acquire(in Container) (*place, error) { return l.take(waiter{Container: in}) }

// Probe takes a place for a probe of an endpoint, until done is called, or fails at once
// with ReasonQueued.
func (l *Limits) Probe(in Container) (done func(), err error) {
	p, err := l.take(waiter{Container: in, probes: true})
	if err != nil {
		return nil, err
	}
	return p.release, nil
}

func (l *Limits) take(w waiter) (*place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.placeFor(w)
	if p == nil {
		l.wait(w)
		return nil, queued
	}
	l.arrive(w)
	return p, nil
}

// placeFor takes a place; nil when there is none.
func (l *Limits) placeFor(w waiter) *place {
	first := fresh
	outcome, tried := l.outcomes.Get(w.key())
	responds := outcome == true
	switch {
	case w.probes:
		first = probing
	case tried && !responds:
		first = retrying
	}
	for _, s := range sharesOf(w.Container) {
		if !l.fits(first, responds, s) {
			return nil
		}
	}
	p := &place{Limits: l, in: w.Container}
	p.move(first)
	return p
}

// fits reports whether a share has room for what begins: a probe, or a session in a
// container of which it is known that it responds, or not.
func (l *Limits) fits(first state, responds bool, s share) bool {
	places, again := l.places[s.kind], l.taken[retrying][s]
	if first == probing {
		return l.taken[probing][s] < places
	}
	late := l.taken[stalled][s] + again
	waiting, working := l.taken[fresh][s]+late, l.taken[fresh][s]+l.taken[responded][s]
	switch {
	case working+late >= SessionsPerPlace*places, !responds && waiting >= waitingPerPlace*places:
		return false
	case first == retrying:
		return 2*again < places
	default:
		return working < places
	}
}

// note remembers whether a container responded when it was tried.
func (l *Limits) note(in Container, responded bool) {
	l.outcomes.Add(in.key(), responded)
}

type containerKey struct {
	pod  types.UID
	name string
}

func (c Container) key() containerKey { return containerKey{c.PodUID, c.Name} }

var queued = &Error{Reason: v1alpha1.ReasonQueued, Message: "Exec concurrency limit reached."}
