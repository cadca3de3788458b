// Package podlog reads logs of containers for exporters. A log hangs if its kubelet does: so
// it is read outside of the reconcile that asks for it, which is repeated once it is known.
package podlog

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
)

// workers is how many logs are read at once, most of them of one namespace. Each takes up to
// maxRead of memory, and none takes longer than logTimeout.
const workers = 8

// Reader reads the logs that exporters ask for, each once. It is the Reconciler of requests for
// the log of a run, whose names begin with those of its pod and container. It is safe for
// concurrent use.
type Reader struct {
	logs Logs
	requests
}

// NewReader returns a Reader of these logs.
func NewReader(logs Logs, c clock.PassiveClock) *Reader {
	return &Reader{logs: logs, requests: newRequests(c)}
}

type requestQueue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// Setup adds the Reader to the manager.
func (r *Reader) Setup(mgr ctrl.Manager) error {
	// A hang is only logged: logs are no reason to restart the operator.
	queue := enqueue.Queue{Workers: workers, Timeout: time.Minute, Clock: r.clock}
	return ctrl.NewControllerManagedBy(mgr).
		Named("podlog").
		WatchesRawSource(source.Func(func(_ context.Context, logs requestQueue) error {
			r.onAsked(logs.Add)
			return nil
		})).
		WatchesRawSource(queue.Source()).
		WithOptions(queue.Options()).
		Complete(queue.Reconciler(r))
}

// Source raises an event for each exporter that asked for a log that is known now. It is
// reconciled after the delay.
func (r *Reader) Source(delay func(exporter ctrl.Request) time.Duration) source.Source {
	return source.Func(func(_ context.Context, exporters requestQueue) error {
		r.onKnown(func(exporter ctrl.Request) { exporters.AddAfter(exporter, delay(exporter)) })
		return nil
	})
}

// Reconcile reads the log of a run.
func (r *Reader) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	run, ok := r.next(request)
	if !ok {
		return ctrl.Result{}, nil
	}
	log, err := r.read(ctx, run)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("cannot read a log", "error", err.Error())
	}
	return ctrl.Result{RequeueAfter: r.answer(request, log, err)}, nil
}

// read reads both logs of a run. Logs are optional: a failure affects nothing else.
func (r *Reader) read(ctx context.Context, run Run) (log Log, err error) {
	of := func(previous bool) (string, error) {
		log, err := r.logs.Tail(ctx, run.Pod, run.Container, run.Lines, previous)
		return tail(log), err
	}
	if log.Current, err = of(false); err != nil || run.Restarts == 0 {
		return log, err
	}
	// While the container waits, both are of the same instance.
	if log.Previous, err = of(true); log.Previous == log.Current {
		log.Previous = ""
	}
	return log, err
}
