package transport

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
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
// Probes of endpoints, which may be silent until they time out, have places of their own:
// as many as sessions, with the same shares.
type Limits struct {
	places map[string]int // by kind of share

	mu sync.Mutex
	// waiting holds the pods that found no place, in order of arrival.
	waiting []waiter
	wake    func(namespace, pod string)
	taken   map[state]map[share]int
	// outcomes holds whether each container responded when last tried.
	outcomes *lru.Cache

	leftovers *leftovers
}

const (
	// waitingPerPlace is how many sessions for each place may wait for the first response
	// of their containers: enough that containers that hang leave room for others.
	waitingPerPlace = 2
	// SessionsPerPlace is the maximum number of sessions for each place, waiting or
	// working.
	SessionsPerPlace = waitingPerPlace + 1
	// WorkersPerPlace is the maximum number of sessions and probes for each place.
	WorkersPerPlace = SessionsPerPlace + 1
	// maxOutcomes is how many containers are remembered. A container that is forgotten
	// counts as never tried.
	maxOutcomes = 20_000
)

// share is a set of sessions with a limit: all sessions, those on a node, those in a
// namespace, or those of a namespace on a node.
type share struct{ kind, name string }

func sharesOf(in Container) [4]share {
	return [...]share{{kind: "all"}, {"node", in.Node}, {"namespace", in.Namespace}, {"namespace on node", in.Namespace + "/" + in.Node}}
}

// NewLimits returns Limits with a number of places overall, on each node and in each
// namespace. A namespace has the same fraction of a node's places as it has of all places,
// rounded up.
func NewLimits(all, perNode, perNamespace int) *Limits {
	onNode := min((perNode*perNamespace+all-1)/all, perNode)
	return &Limits{
		places:   map[string]int{"all": all, "node": perNode, "namespace": perNamespace, "namespace on node": onNode},
		taken:    map[state]map[share]int{fresh: {}, stalled: {}, retrying: {}, responded: {}, probing: {}},
		outcomes: lru.New(maxOutcomes), leftovers: newLeftovers(),
	}
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
	defer l.mu.Unlock()
	p := l.placeFor(w)
	if p == nil {
		l.enqueue(w)
		return nil, errQueued
	}
	l.dequeue(w)
	return p, nil
}

// placeFor takes a place, or returns nil if there is none. The caller holds l.mu.
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

// fits reports whether a share has room for a session or probe in its first state.
// responds is whether its container responded when last tried.
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

// note records whether a container responded when it was tried.
func (l *Limits) note(in Container, responded bool) {
	l.outcomes.Add(in.key(), responded)
}

type containerKey struct {
	pod  types.UID
	name string
}

func (c Container) key() containerKey { return containerKey{c.PodUID, c.Name} }

var errQueued = &Error{Reason: v1alpha1.ReasonQueued, Message: "Exec concurrency limit reached."}
