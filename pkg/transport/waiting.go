package transport

import "slices"

// OnRoom has wake called for each pod that found no place, once there may be one for
// it, in the order in which they asked: who waits need not ask again before. A place is
// not kept for the one that is woken; it asks like any other. wake must not block.
func (l *Limits) OnRoom(wake func(namespace, pod string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = wake
}

// waiter is a pod that waits for a session with one of its containers, or for a probe.
type waiter struct {
	Container
	probes bool
}

// wait puts a pod at the end of the queue, if it is not in it.
func (l *Limits) wait(w waiter) {
	if l.wake != nil && !slices.ContainsFunc(l.waiting, w.same) {
		l.waiting = append(l.waiting, w)
	}
}

// arrive takes a pod out of the queue that has found a place by itself.
func (l *Limits) arrive(w waiter) { l.waiting = slices.DeleteFunc(l.waiting, w.same) }

// change changes the places, and wakes those for which there is room then.
func (l *Limits) change(change func()) {
	l.mu.Lock()
	change()
	next, wake := l.next(), l.wake
	l.mu.Unlock()
	for _, waiting := range next {
		wake(waiting.Namespace, waiting.Pod)
	}
}

// next takes those out of the queue for which there is room now, all together.
func (l *Limits) next() []waiter {
	var next []waiter
	var places []*place
	l.waiting = slices.DeleteFunc(l.waiting, func(w waiter) bool {
		p := l.placeFor(w)
		if p == nil {
			return false
		}
		next, places = append(next, w), append(places, p)
		return true
	})
	for _, p := range places {
		p.move(ended)
	}
	return next
}

// same reports whether both are the same pod, and wait for the same.
func (w waiter) same(other waiter) bool {
	return w.Namespace == other.Namespace && w.Pod == other.Pod && w.probes == other.probes
}
