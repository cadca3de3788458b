package transport

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Limits bounds the sessions under way: API Priority and Fairness does not count
// execs, and a kubelet serves them all at once. A node and a namespace have a share
// of them.
//
// A container that hangs keeps no place from others: a session whose container does
// not respond soon gives its place back, and waits beside those that work. When the
// container responds after all, the session works whether or not a place is free, and
// no other begins until one is. A container that did not respond at all is tried again
// without a place. One that responded when last tried needs no room to wait: it is not
// queued behind a fleet that hangs. There are never more sessions than SessionsPerPlace
// for each place.
type Limits struct {
	places map[string]int // by the kind of a share

	mu sync.Mutex
	// waiting found no place, by pod, in order of arrival.
	waiting []Container
	wake    func(namespace, pod string)
	taken   map[state]map[share]int
	// outcomes are whether containers responded when last tried, by their keys.
	outcomes *lru.Cache
}

const (
	// waitingPerPlace is how many sessions may wait for the first response of their
	// containers, for each place: enough that those that hang leave room to others.
	waitingPerPlace = 2
	// SessionsPerPlace is how many sessions there are at most for each place, those
	// that wait and those that work.
	SessionsPerPlace = waitingPerPlace + 1
	// maxOutcomes bounds the memory for containers. What is forgotten is a container
	// that was never tried.
	maxOutcomes = 20_000
)

// share is what is bounded: all sessions, those on a node, those in a namespace.
type share struct{ kind, name string }

func sharesOf(in Container) [3]share {
	return [...]share{{kind: "all"}, {"node", in.Node}, {"namespace", in.Namespace}}
}

// NewLimits returns a number of places for sessions in all, on each node and in each
// namespace.
func NewLimits(all, perNode, perNamespace int) *Limits {
	return &Limits{
		places:   map[string]int{"all": all, "node": perNode, "namespace": perNamespace},
		taken:    map[state]map[share]int{fresh: {}, stalled: {}, retrying: {}, responded: {}},
		outcomes: lru.New(maxOutcomes),
	}
}

// acquire takes a place, or fails at once with ReasonQueued: who waits here
// would keep a worker from the pods of other nodes.
func (l *Limits) acquire(in Container) (*place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.placeFor(in)
	if p == nil {
		l.wait(in)
		return nil, queued
	}
	l.arrive(in)
	return p, nil
}

// placeFor takes a place; nil when there is none.
func (l *Limits) placeFor(in Container) *place {
	first := fresh
	outcome, tried := l.outcomes.Get(in.key())
	responds := outcome == true
	if tried && !responds {
		first = retrying
	}
	for _, s := range sharesOf(in) {
		if !l.fits(first, responds, s) {
			return nil
		}
	}
	p := &place{Limits: l, in: in}
	p.move(first)
	return p
}

// fits reports whether a share has room for a session that begins, in a container of
// which it is known that it responds, or not.
func (l *Limits) fits(first state, responds bool, s share) bool {
	places, again := l.places[s.kind], l.taken[retrying][s]
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
