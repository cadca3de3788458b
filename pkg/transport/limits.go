package transport

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
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

// acquire waits for a place. The node's comes first, so that a slow node's
// queue takes no place from the others.
func (l *Limits) acquire(ctx context.Context, node string) (release func(), err error) {
	perNode := l.node(node)
	if err := perNode.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := l.all.Acquire(ctx, 1); err != nil {
		perNode.Release(1)
		return nil, err
	}
	return func() { l.all.Release(1); perNode.Release(1) }, nil
}

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
