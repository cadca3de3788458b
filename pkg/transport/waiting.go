package transport

import (
	"cmp"
	"slices"
)

// waiter is a pod that waits for a place: for a session with one of its containers, or for
// a probe.
type waiter struct {
	Container
	probes bool
}

// waiting identifies what waits: a pod waits at most once for each kind of place.
type waiting struct {
	namespace, pod string
	probes         bool
}

func (w waiter) id() waiting { return waiting{w.Namespace, w.Pod, w.probes} }

// class is what decides, besides the namespace, whether there is room for a waiter.
type class struct {
	node     string
	first    state
	responds bool
}

// queued is a waiter in the queue.
type queued struct {
	waiter
	class class
	// arrival orders those of one exporter.
	arrival uint64
}

// queue holds the pods that found no place. Namespaces take turns, and so do the exporters
// of one; those of an exporter come in order of arrival. It is not safe for concurrent use.
type queue struct {
	wake     func(namespace, pod string) bool
	onWait   func(probes bool, change int)
	arrivals uint64
	members  map[waiting]*queued
	// turns are the namespaces that have members, the next one first.
	turns    []string
	backlogs map[string]*backlog
}

// backlog holds the members of one namespace.
type backlog struct {
	// turns are the exporters that have had members, the next one first.
	turns []string
	// classes holds the members of each class by exporter, in order of arrival.
	classes map[class]map[string][]*queued
}

// enqueue appends a pod to the queue. One that is in it keeps its arrival, but may wait for
// another container now.
func (q *queue) enqueue(w waiter, of class) {
	if q.wake == nil {
		return
	}
	if q.members == nil {
		q.members, q.backlogs = map[waiting]*queued{}, map[string]*backlog{}
	}
	before := q.members[w.id()]
	if before != nil && before.class == of && before.Origin.Exporter == w.Origin.Exporter {
		before.waiter = w
		return
	}
	q.arrivals++
	m := &queued{waiter: w, class: of, arrival: q.arrivals}
	if before != nil {
		m.arrival = before.arrival
		q.dequeue(w.id())
	}
	q.members[w.id()] = m
	q.counted(w.probes, 1)
	b := q.backlogs[w.Namespace]
	if b == nil {
		b = &backlog{classes: map[class]map[string][]*queued{}}
		q.backlogs[w.Namespace] = b
		q.turns = append(q.turns, w.Namespace)
	}
	if !slices.Contains(b.turns, w.Origin.Exporter) {
		b.turns = append(b.turns, w.Origin.Exporter)
	}
	if b.classes[of] == nil {
		b.classes[of] = map[string][]*queued{}
	}
	all := b.classes[of][w.Origin.Exporter]
	i, _ := slices.BinarySearchFunc(all, m, func(a, b *queued) int { return cmp.Compare(a.arrival, b.arrival) })
	b.classes[of][w.Origin.Exporter] = slices.Insert(all, i, m)
}

func (q *queue) counted(probes bool, change int) {
	if q.onWait != nil {
		q.onWait(probes, change)
	}
}

// dequeue removes a pod from the queue, if it is in it.
func (q *queue) dequeue(w waiting) {
	m := q.members[w]
	if m == nil {
		return
	}
	delete(q.members, w)
	q.counted(w.probes, -1)
	b, exporter := q.backlogs[w.namespace], m.Origin.Exporter
	of := b.classes[m.class]
	of[exporter] = slices.DeleteFunc(of[exporter], func(other *queued) bool { return other == m })
	if len(of[exporter]) == 0 {
		delete(of, exporter)
	}
	if len(of) == 0 {
		delete(b.classes, m.class)
	}
	if len(b.classes) == 0 {
		delete(q.backlogs, w.namespace)
		q.turns = slices.DeleteFunc(q.turns, func(n string) bool { return n == w.namespace })
	}
}

// next removes and returns the member whose turn it is, among those for which there is
// room; nil if there is none. Room is asked for once for each class of a namespace.
func (q *queue) next(room func(class, Container) bool) *queued {
	for i, namespace := range q.turns {
		m, exporter := q.backlogs[namespace].next(room)
		if m == nil {
			continue
		}
		b := q.backlogs[namespace]
		b.turns = toEnd(b.turns, exporter)
		q.turns = toEnd(q.turns, i)
		q.dequeue(m.id())
		return m
	}
	return nil
}

// next returns the member whose turn it is, and its exporter's place in turns.
func (b *backlog) next(room func(class, Container) bool) (*queued, int) {
	var open []map[string][]*queued
	for of, members := range b.classes {
		for _, some := range members {
			if room(of, some[0].Container) {
				open = append(open, members)
			}
			break
		}
	}
	if len(open) == 0 {
		return nil, 0
	}
	for i, exporter := range b.turns {
		var first *queued
		for _, members := range open {
			if m := members[exporter]; len(m) > 0 && (first == nil || m[0].arrival < first.arrival) {
				first = m[0]
			}
		}
		if first != nil {
			return first, i
		}
	}
	return nil, 0
}

// toEnd moves one element to the end.
func toEnd(turns []string, i int) []string {
	turn := turns[i]
	return append(slices.Delete(turns, i, i+1), turn)
}
