package transport

import "slices"

// OnRoom registers wake, which is called for each pod that found no place once there may
// be one, in the order in which the pods asked, so that they need not poll. No place is
// reserved for a woken pod; it asks like any other. wake must not block.
func (l *Limits) OnRoom(wake func(namespace, pod string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wake = wake
}

// waiter is a pod that waits for a place: for a session with one of its containers, or for
// a probe.
type waiter struct {
	Container
	probes bool
}

// enqueue appends a pod to the queue unless it is in it already.
func (l *Limits) enqueue(w waiter) {
	if l.wake != nil && !slices.ContainsFunc(l.waiting, w.same) {
		l.waiting = append(l.waiting, w)
	}
}

// dequeue removes a pod that has found a place by itself from the queue.
func (l *Limits) dequeue(w waiter) { l.waiting = slices.DeleteFunc(l.waiting, w.same) }

// update changes the places, then wakes the pods for which there is room.
func (l *Limits) update(change func()) {
	l.mu.Lock()
	change()
	next, wake := l.dequeueReady(), l.wake
	l.mu.Unlock()
	for _, waiting := range next {
		wake(waiting.Namespace, waiting.Pod)
	}
}

// dequeueReady removes the pods for which there is room from the queue, and returns them.
// There is room for all of them together, but their places are not reserved.
func (l *Limits) dequeueReady() []waiter {
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

// same reports whether both are the same pod, and wait for the same kind of place.
func (w waiter) same(other waiter) bool {
	return w.Namespace == other.Namespace && w.Pod == other.Pod && w.probes == other.probes
}
