package enqueue

import (
	"context"
	"sync"
)

// shares divides places among namespaces, so that what hangs for one leaves places to others:
// one occupies at most this many times as many as are left.
type shares struct {
	places, times int

	total int
	taken map[string]int
}

// room reports whether a namespace may have another place.
func (s *shares) room(namespace string) bool {
	return s.taken[namespace] < s.times*(s.places-s.total)
}

func (s *shares) take(namespace string) {
	if s.taken == nil {
		s.taken = map[string]int{}
	}
	s.taken[namespace]++
	s.total++
}

func (s *shares) free(namespace string) {
	s.total--
	if s.taken[namespace]--; s.taken[namespace] == 0 {
		delete(s.taken, namespace)
	}
}

// Slots limit how much of something is done at once. A namespace has at most half of them, and
// half of what others leave. They are safe for concurrent use.
type Slots struct {
	mu    sync.Mutex
	taken shares
	// freed is closed when a slot is free.
	freed chan struct{}
}

// NewSlots returns n slots.
func NewSlots(n int) *Slots {
	return &Slots{taken: shares{places: n, times: 1}, freed: make(chan struct{})}
}

// Take waits for a slot until ctx is done. The caller calls free when it does not need the slot
// any more.
func (s *Slots) Take(ctx context.Context, namespace string) (free func(), err error) {
	for {
		freed, ok := s.try(namespace)
		if ok {
			return func() { s.free(namespace) }, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try takes a slot, or returns what is closed when one is free.
func (s *Slots) try(namespace string) (freed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken.room(namespace) {
		s.taken.take(namespace)
		return nil, true
	}
	return s.freed, false
}

func (s *Slots) free(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken.free(namespace)
	close(s.freed)
	s.freed = make(chan struct{})
}
