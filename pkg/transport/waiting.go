package transport

import "slices"

// waiter is a pod that waits for a place: for a session with one of its containers, or for
// a probe.
type waiter struct {
	Container
	probes bool
}

// same reports whether both are the same pod, and wait for the same kind of place.
func (w waiter) same(other waiter) bool {
	return w.Namespace == other.Namespace && w.Pod == other.Pod && w.probes == other.probes
}

// queue holds the pods that found no place, in order of arrival. It is not safe for
// concurrent use.
type queue struct {
	waiting []waiter
	wake    func(namespace, pod string)
}

// enqueue appends a pod to the queue unless it is in it already.
func (q *queue) enqueue(w waiter) {
	if q.wake != nil && !slices.ContainsFunc(q.waiting, w.same) {
		q.waiting = append(q.waiting, w)
	}
}

// dequeue removes a pod that has found a place by itself from the queue.
func (q *queue) dequeue(w waiter) { q.waiting = slices.DeleteFunc(q.waiting, w.same) }
