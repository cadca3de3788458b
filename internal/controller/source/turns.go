package source

import (
	"context"
	"fmt"
	"sync"
)

// Limits of concurrent reads. One takes up to 40 MB while it lasts, to decode a ConfigMap of 1 MiB
// and to validate 256 KiB of YAML, so many at once would take all memory of the operator.
const (
	readsAtOnce      = 4
	readsOfNamespace = 2
)

// turns limits concurrent reads, in all and of one namespace, which delays others by no more than
// the reads that it may have.
type turns struct {
	all chan struct{}

	mu sync.Mutex
	of map[string]*queue // by namespace
}

// queue is where the reads of one namespace wait.
type queue struct {
	places chan struct{}
	users  int
}

func newTurns() *turns {
	return &turns{all: make(chan struct{}, readsAtOnce), of: map[string]*queue{}}
}

// take waits for a turn, which lasts until done is called.
func (t *turns) take(ctx context.Context, namespace string) (done func(), err error) {
	q := t.enter(namespace)
	for _, places := range []chan struct{}{q.places, t.all} {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			if places == t.all {
				<-q.places
			}
			t.leave(namespace)
			return nil, fmt.Errorf("other reads of namespace %s took too long: %w", namespace, context.Cause(ctx))
		}
	}
	return func() {
		<-t.all
		<-q.places
		t.leave(namespace)
	}, nil
}

func (t *turns) enter(namespace string) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.of[namespace]
	if q == nil {
		q = &queue{places: make(chan struct{}, readsOfNamespace)}
		t.of[namespace] = q
	}
	q.users++
	return q
}

func (t *turns) leave(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q := t.of[namespace]; q.users > 1 {
		q.users--
	} else {
		delete(t.of, namespace)
	}
}
