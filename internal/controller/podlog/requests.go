package podlog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Run is a run of a container, and how many lines of its log are asked for.
type Run struct {
	Pod       types.NamespacedName
	UID       types.UID
	Container string
	Restarts  int32
	Lines     int32
}

// request is the request to read the log of the run.
func (run Run) request() ctrl.Request {
	name := fmt.Sprintf("%s/%s/%d/%d/%s", run.Pod.Name, run.Container, run.Restarts, run.Lines, run.UID)
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: run.Pod.Namespace, Name: name}}
}

// Log has the last lines of a run and of the one before it.
type Log struct {
	Current, Previous string
	// Forbidden reports that the operator may not read them, and Failed that it may, but could
	// not.
	Forbidden, Failed bool
}

// IsEmpty reports whether the log has no line.
func (l Log) IsEmpty() bool { return l.Current+l.Previous == "" }

// retries are those of a failed read: a pod that never restarts gives no other occasion.
var retries = wait.Backoff{Steps: 3, Duration: 500 * time.Millisecond, Factor: 2}

// requests are the logs that exporters ask for. They are kept in memory only: an operator
// that starts finds in the status what was read, and asks for the rest.
type requests struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// of has the runs that each exporter asks for, and readings their logs. A run that no
	// exporter asks for is forgotten.
	of       map[types.NamespacedName]sets.Set[Run]
	readings map[ctrl.Request]*reading
	// denied has the time until which nothing is read in a namespace: granting the right
	// raises no event, and retrying each time would be polling.
	denied map[string]time.Time

	// enqueue is called for a log to read, and notify for an exporter that asked for one
	// that is known now.
	enqueue, notify func(ctrl.Request)
}

// reading is a log that is asked for.
type reading struct {
	run Run
	by  sets.Set[types.NamespacedName]
	state
	// log is what was read, and left the retries.
	log  Log
	left wait.Backoff
}

type state int

const (
	isAsked state = iota
	isEnqueued
	isRead
	isFailed // and the log stays unknown
)

func newRequests(c clock.PassiveClock) requests {
	ignore := func(ctrl.Request) {}
	return requests{
		clock: c, of: map[types.NamespacedName]sets.Set[Run]{}, readings: map[ctrl.Request]*reading{}, denied: map[string]time.Time{},
		enqueue: ignore, notify: ignore,
	}
}

// onAsked registers what enqueues logs to read, and enqueues those that were asked for before.
func (r *requests) onAsked(enqueue func(ctrl.Request)) {
	r.mu.Lock()
	r.enqueue = enqueue
	r.mu.Unlock()
	for _, request := range r.Unread() {
		enqueue(request)
	}
}

// Unread returns the requests for logs that are to be read.
func (r *requests) Unread() (requests []ctrl.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for request, of := range r.readings {
		if of.state == isEnqueued {
			requests = append(requests, request)
		}
	}
	return requests
}

func (r *requests) onKnown(notify func(exporter ctrl.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notify = notify
}

// Ask replaces the runs whose logs an exporter reports, each with the log in its status: if
// that is empty, it is asked for. It returns the logs that are known, of those that are asked
// for. An exporter is reconciled again when another one is. A log that has arrived in the
// status is forgotten.
func (r *requests) Ask(exporter types.NamespacedName, runs map[Run]Log) (known map[Run]Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known = map[Run]Log{}
	asks := sets.New[Run]()
	for run, status := range runs {
		if !status.IsEmpty() && !r.isUnknownTo(exporter, run, status) {
			continue
		}
		asks.Insert(run)
		switch of := r.add(exporter, run); {
		case of.state == isRead:
			known[run] = of.log
		case of.state == isFailed:
			known[run] = Log{Failed: true}
		case r.isDenied(run.Pod.Namespace):
			known[run] = Log{Forbidden: true}
		case of.state == isAsked:
			of.state, of.left = isEnqueued, retries
			r.enqueue(run.request())
		}
	}
	for run := range r.of[exporter].Difference(asks) {
		r.forget(exporter, run)
	}
	if r.of[exporter] = asks; len(asks) == 0 {
		delete(r.of, exporter)
	}
	return known
}

// isUnknownTo reports whether an exporter asked for a log that its status does not have. The
// caller holds r.mu.
func (r *requests) isUnknownTo(exporter types.NamespacedName, run Run, status Log) bool {
	if !r.of[exporter].Has(run) {
		return false
	}
	of := r.readings[run.request()]
	return of.state != isRead || of.log != status
}

// add returns the reading of a run that the exporter asks for. The caller holds r.mu.
func (r *requests) add(exporter types.NamespacedName, run Run) *reading {
	of := r.readings[run.request()]
	if of == nil {
		of = &reading{run: run, by: sets.New[types.NamespacedName]()}
		r.readings[run.request()] = of
	}
	of.by.Insert(exporter)
	return of
}

// forget removes an exporter's request for a run. The caller holds r.mu.
func (r *requests) forget(exporter types.NamespacedName, run Run) {
	if of := r.readings[run.request()]; of.by.Delete(exporter).Len() == 0 {
		delete(r.readings, run.request())
	}
}

// next returns the run of a request whose log is to be read. In a namespace where that is
// forbidden, none is, until an exporter asks again.
func (r *requests) next(request ctrl.Request) (run Run, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.readings[request]
	switch {
	case of == nil, of.state != isEnqueued:
		return Run{}, false
	case r.isDenied(request.Namespace):
		r.settle(of, isAsked)
		return Run{}, false
	}
	return of.run, true
}

// answer notes the result of a read, unless nobody asks for it any more. It returns the time
// until it is to be repeated; 0 for never. A kubelet that hangs would only hang again.
func (r *requests) answer(request ctrl.Request, log Log, err error) (again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.readings[request]
	switch {
	case of == nil:
	case errors.Is(err, ErrForbidden):
		now := r.clock.Now()
		maps.DeleteFunc(r.denied, func(_ string, until time.Time) bool { return !now.Before(until) })
		r.denied[request.Namespace] = now.Add(statemachine.MaxBackoff)
		r.settle(of, isAsked)
	case err != nil && !errors.Is(err, context.DeadlineExceeded) && of.left.Steps > 0:
		return of.left.Step()
	case err != nil && log.IsEmpty():
		r.settle(of, isFailed)
	default:
		of.log = log
		r.settle(of, isRead)
	}
	return 0
}

// settle notifies the exporters that asked for a log. The caller holds r.mu.
func (r *requests) settle(of *reading, as state) {
	of.state = as
	for exporter := range of.by {
		r.notify(ctrl.Request{NamespacedName: exporter})
	}
}

// isDenied reports whether nothing is read in a namespace for now. The caller holds r.mu.
func (r *requests) isDenied(namespace string) bool { return r.clock.Now().Before(r.denied[namespace]) }
