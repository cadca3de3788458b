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

// wait puts a pod at the end of the queue, if it is not in it.
func (l *Limits) wait(in Container) {
	if l.wake != nil && !slices.ContainsFunc(l.waiting, in.samePod) {
		l.waiting = append(l.waiting, in)
	}
}

// arrive takes a pod out of the queue that has found a place by itself.
func (l *Limits) arrive(in Container) { l.waiting = slices.DeleteFunc(l.waiting, in.samePod) }

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
func (l *Limits) next() []Container {
	var next []Container
	var places []*place
	l.waiting = slices.DeleteFunc(l.waiting, func(in Container) bool {
		p := l.placeFor(in)
		if p == nil {
			return false
		}
		next, places = append(next, in), append(places, p)
		return true
	})
	for _, p := range places {
		p.move(ended)
	}
	return next
}

func (c Container) samePod(other Container) bool {
	return c.Namespace == other.Namespace && c.Pod == other.Pod
}
