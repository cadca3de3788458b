package transport

import (
	"sync"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Limits bounds the sessions under way: API Priority and Fairness does not count
// execs, and a kubelet serves them all at once. A node and a namespace have a share
// of them, so that containers that hang there leave places to others.
type Limits struct {
	all, perNode, perNamespace int

	mu         sync.Mutex
	taken      int
	nodes      map[string]int
	namespaces map[string]int
}

// NewLimits returns bounds on the sessions under way in all, on each node and in each
// namespace.
func NewLimits(all, perNode, perNamespace int) *Limits {
	return &Limits{all: all, perNode: perNode, perNamespace: perNamespace, nodes: map[string]int{}, namespaces: map[string]int{}}
}

// acquire takes a place, or fails at once with ReasonQueued: who waits here
// would keep a worker from the pods of other nodes.
func (l *Limits) acquire(in Container) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken >= l.all || l.nodes[in.Node] >= l.perNode || l.namespaces[in.Namespace] >= l.perNamespace {
		return nil, queued
	}
	l.add(in, 1)
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.add(in, -1)
	}), nil
}

func (l *Limits) add(in Container, n int) {
	l.taken += n
	for name, taken := range map[string]map[string]int{in.Node: l.nodes, in.Namespace: l.namespaces} {
		if taken[name] += n; taken[name] == 0 {
			delete(taken, name)
		}
	}
}

var queued = &Error{Reason: v1alpha1.ReasonQueued, Message: "Exec concurrency limit reached."}
