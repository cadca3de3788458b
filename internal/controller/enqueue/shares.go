package enqueue

import (
	"container/list"
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
// half of what others leave. Of those that wait, the one that came first and whose namespace may
// have a slot is next. They are safe for concurrent use.
type Slots struct {
	mu      sync.Mutex
	taken   shares
	waiting list.List // of *waiter
}

// waiter waits for a slot.
type waiter struct {
	namespace string
	granted   chan struct{} // closed when it has a slot
}

// NewSlots returns n slots.
func NewSlots(n int) *Slots {
	return &Slots{taken: shares{places: n, times: 1}}
}

// Take waits for a slot until ctx is done. The caller calls free when it does not need the slot
// any more.
func (s *Slots) Take(ctx context.Context, namespace string) (free func(), err error) {
	w, element := s.wait(namespace)
	select {
	case <-w.granted:
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		s.leave(w, element)
		return nil, err
	}
	return func() { s.free(namespace) }, nil
}

// wait lets a waiter queue up, which may have its slot at once.
func (s *Slots) wait(namespace string) (*waiter, *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{namespace, make(chan struct{})}
	element := s.waiting.PushBack(w)
	s.grant()
	return w, element
}

// leave takes a waiter out of the queue, or its slot from it.
func (s *Slots) leave(w *waiter, element *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.granted:
		s.taken.free(w.namespace)
		s.grant()
	default:
		s.waiting.Remove(element)
	}
}

func (s *Slots) free(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken.free(namespace)
	s.grant()
}

// grant gives slots to those that wait.
func (s *Slots) grant() {
	for element := s.waiting.Front(); element != nil; {
		next := element.Next()
		if w := element.Value.(*waiter); s.taken.room(w.namespace) {
			s.taken.take(w.namespace)
			s.waiting.Remove(element)
			close(w.granted)
		}
		element = next
	}
}
