package transport

import (
	"sync"

	"golang.org/x/sync/semaphore"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Limits bounds the execs under way, in all and for each node: API Priority and
// Fairness does not count them, and a kubelet serves them all at once.
type Limits struct {
	all     *semaphore.Weighted
	perNode int64

	mu    sync.Mutex
	nodes map[string]*semaphore.Weighted
}

// NewLimits returns bounds on the execs under way in all and for each node.
func NewLimits(all, perNode int64) *Limits {
	return &Limits{all: semaphore.NewWeighted(all), perNode: perNode, nodes: map[string]*semaphore.Weighted{}}
}

// acquire takes a place, or fails at once with ReasonQueued: who waits here
// would keep a worker from the pods of other nodes.
func (l *Limits) acquire(node string) (release func(), err error) {
	perNode := l.node(node)
	if !perNode.TryAcquire(1) {
		return nil, queued
	}
	if !l.all.TryAcquire(1) {
		perNode.Release(1)
		return nil, queued
	}
	return func() { l.all.Release(1); perNode.Release(1) }, nil
}

var queued = &Error{Reason: v1alpha1.ReasonQueued, Message: "As many execs are under way as may be at once."}

func (l *Limits) node(name string) *semaphore.Weighted {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.nodes[name]
	if !ok {
		s = semaphore.NewWeighted(l.perNode)
		l.nodes[name] = s
	}
	return s
}
