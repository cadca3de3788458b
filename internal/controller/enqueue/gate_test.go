package enqueue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// gate owns all namespaces but "other", and holds those that it has a Hold of.
type gate struct {
	holds map[string]*Hold
	err   error
}

// Owns implements Gate.
func (g gate) Owns(namespace string) bool { return namespace != "other" }

// Hold implements Gate.
func (g gate) Hold(_ context.Context, namespace string) (*Hold, error) {
	return g.holds[namespace], g.err
}

// OnChange implements Gate.
func (g gate) OnChange(func()) {}

// What the gate holds is not reconciled, is reported if there is a reason, and is asked for again.
// What it does not own is dropped.
func TestGate(t *testing.T) {
	refused := errors.New("refused")
	for name, tc := range map[string]struct {
		namespace          string
		of                 gate
		held               error
		reconciled, report bool
		want               ctrl.Result
		err                error
	}{
		"passes":              {"shop", gate{}, nil, true, false, ctrl.Result{RequeueAfter: time.Hour}, nil},
		"another's":           {"other", gate{}, nil, false, false, ctrl.Result{}, nil},
		"held":                {"shop", gate{holds: map[string]*Hold{"shop": {Reason: "Held", RetryAfter: time.Minute}}}, nil, false, true, ctrl.Result{RequeueAfter: time.Minute}, nil},
		"held for no reason":  {"shop", gate{holds: map[string]*Hold{"shop": {RetryAfter: time.Minute}}}, nil, false, false, ctrl.Result{RequeueAfter: time.Minute}, nil},
		"another is held":     {"shop", gate{holds: map[string]*Hold{"bank": {RetryAfter: time.Minute}}}, nil, true, false, ctrl.Result{RequeueAfter: time.Hour}, nil},
		"the report fails":    {"shop", gate{holds: map[string]*Hold{"shop": {Reason: "Held"}}}, refused, false, true, ctrl.Result{}, refused},
		"it is not known":     {"shop", gate{err: refused}, nil, false, false, ctrl.Result{}, refused},
		"another's unknown":   {"other", gate{err: refused}, nil, false, false, ctrl.Result{}, nil},
		"another's held ones": {"other", gate{holds: map[string]*Hold{"other": {Reason: "Held"}}}, nil, false, false, ctrl.Result{}, nil},
	} {
		var reconciled, reported bool
		q := Queue{Workers: 4, Clock: clock.RealClock{}, Gate: tc.of, Held: func(context.Context, ctrl.Request, *Hold) error {
			reported = true
			return tc.held
		}}
		q.queue = workqueue.NewTypedRateLimitingQueue(q.RateLimiter())
		defer q.queue.ShutDown()
		r := q.Reconciler(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
			reconciled = true
			return ctrl.Result{RequeueAfter: time.Hour}, nil
		}))
		got, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: tc.namespace, Name: "a"}})
		if got != tc.want || !errors.Is(err, tc.err) || reconciled != tc.reconciled || reported != tc.report {
			t.Errorf("%s: result %v, error %v, reconciled %t, reported %t; want %v, %v, %t, %t", name, got, err, reconciled, reported, tc.want, tc.err, tc.reconciled, tc.report)
		}
	}
}

// What is held gives back the worker that it was granted, and is reported again even where a report
// has failed.
func TestHeldWhileGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holds := gate{holds: map[string]*Hold{}}
		q := Queue{Workers: 4, Timeout: time.Minute, Clock: clock.RealClock{}, Gate: holds, Held: func(context.Context, ctrl.Request, *Hold) error { return errors.New("refused") }}
		q.queue = workqueue.NewTypedRateLimitingQueue(q.RateLimiter())
		defer q.queue.ShutDown()
		r := q.Reconciler(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil }))
		request := func(name string) ctrl.Request {
			return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
		}
		for _, name := range []string{"1", "2", "3"} { // as many as one namespace may have
			q.begin(request(name))
		}
		for _, name := range []string{"4", "5"} {
			if _, err := r.Reconcile(t.Context(), request(name)); err != nil || !q.waits.Has(request(name)) {
				t.Fatalf("%s does not wait: %v", name, err)
			}
		}
		holds.holds["shop"] = &Hold{Reason: "Held", RetryAfter: 10 * time.Second}
		for range 3 {
			q.end("shop")
		}
		for q.queue.Len() > 0 {
			next, _ := q.queue.Get()
			_, _ = r.Reconcile(t.Context(), next)
			q.queue.Done(next)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if err := q.Check(nil); err != nil || !q.idle() {
			t.Errorf("held requests keep workers: %d, %v", q.running.total, err)
		}
		if q.queue.Len() != 2 {
			t.Errorf("requests that are tried again: got %d, want 2", q.queue.Len())
		}
	})
}

// Events of namespaces that the gate does not own are not mapped.
func TestOwned(t *testing.T) {
	maps := Owned(gate{}, func(context.Context, **corev1.Pod, **corev1.Pod) []reconcile.Request { return []reconcile.Request{{}} })
	for namespace, want := range map[string]int{"shop": 1, "other": 0} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		for _, event := range [][2]**corev1.Pod{{nil, &pod}, {&pod, nil}, {&pod, &pod}} {
			if got := maps(t.Context(), event[0], event[1]); len(got) != want {
				t.Errorf("%s: got %d requests, want %d", namespace, len(got), want)
			}
		}
	}
}
