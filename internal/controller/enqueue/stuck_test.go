package enqueue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Reconciles that hang in this process fail the check; what they wait for outside does not,
// nor does one that hangs beside others. The controller is real, the clock is simulated.
func TestStuckQueue(t *testing.T) {
	const workers, timeout = 4, time.Minute
	hangs := func(end <-chan struct{}) { <-end } // whatever its context says
	for name, tc := range map[string]struct {
		reconcile func(ctx context.Context, name string, end <-chan struct{})
		requests  int
		every     time.Duration // one more request, 0 for never
		fails     bool
	}{
		"nothing is to be done": {},
		"reconciles end":        {requests: 9, reconcile: func(context.Context, string, <-chan struct{}) {}},
		"the API server does not answer": {requests: 9, every: time.Minute, reconcile: func(ctx context.Context, _ string, _ <-chan struct{}) {
			<-ctx.Done()
		}},
		"reconciles hang":    {requests: 9, fails: true, reconcile: func(_ context.Context, _ string, end <-chan struct{}) { hangs(end) }},
		"a single one hangs": {requests: 1, fails: true, reconcile: func(_ context.Context, _ string, end <-chan struct{}) { hangs(end) }},
		"one of several hangs": {requests: 9, every: time.Minute, reconcile: func(_ context.Context, name string, end <-chan struct{}) {
			if name == "0" {
				hangs(end)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := make(chan struct{})
				q := &Queue{Workers: workers, Timeout: timeout, Clock: clock.RealClock{}}
				r := q.Reconciler(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
					tc.reconcile(ctx, request.Name, end)
					return ctrl.Result{}, nil
				}))
				add := startQueue(t, q, r, logr.Discard())
				time.Sleep(time.Hour) // idle
				for i := range tc.requests {
					add(fmt.Sprint(i))
				}
				synctest.Wait()
				for minute := range 60 {
					err := q.Check(nil)
					if wants := tc.fails && minute >= 6; (err != nil) != wants {
						t.Fatalf("after %d minutes: got %v, want an error: %t", minute, err, wants)
					}
					time.Sleep(time.Minute)
					if tc.every > 0 {
						add(fmt.Sprint(tc.requests + minute))
					}
					synctest.Wait()
				}
				close(end)
				synctest.Wait()
				if err := q.Check(nil); err != nil {
					t.Errorf("after it went on: got %v", err)
				}
			})
		})
	}
}

// A reconcile that hangs is logged once, also beside others that end: with its namespace, and
// with the stacks of the goroutines if no other one hangs.
func TestReconcilesThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		q := &Queue{Workers: 4, Timeout: time.Minute, Clock: clock.RealClock{}}
		r := q.Reconciler(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
			switch request.Name {
			case "hangs", "hangs, too":
				<-end
			case "is slow":
				<-ctx.Done()
			}
			return ctrl.Result{}, nil
		}))
		hanging := make(chan string, 9)
		add := startQueue(t, q, r, funcr.New(func(_, line string) {
			if strings.Contains(line, "reconcile hangs") {
				hanging <- line
			}
		}, funcr.Options{}))
		expect := func(when string, wait time.Duration, name string, stacks bool) {
			t.Helper()
			for range wait / time.Minute {
				add("is slow")
				time.Sleep(time.Minute)
			}
			synctest.Wait()
			got := ""
			if len(hanging) > 0 {
				got = <-hanging
			}
			isName := strings.Contains(got, fmt.Sprintf(`"namespace"="shop" "name"=%q`, name))
			if isName == (name == "") || len(hanging) > 0 || strings.Contains(got, "TestReconcilesThatHang") != stacks {
				t.Errorf("%s: got %d more and %.2000s, want %q, stacks: %t", when, len(hanging), got, name, stacks)
			}
		}
		add("hangs")
		expect("before it is late", 5*time.Minute, "", false)
		expect("when it is late", time.Hour, "hangs", true)
		expect("later", time.Hour, "", false)
		add("hangs, too")
		expect("beside another one", time.Hour, "hangs, too", false)
		close(end)
		expect("when both have ended", time.Hour, "", false)
		end = make(chan struct{})
		defer func() { close(end) }()
		add("hangs")
		expect("another one", time.Hour, "hangs", true)
	})
}

// startQueue starts a controller of the queue, and returns what adds requests to it.
func startQueue(t *testing.T, q *Queue, r reconcile.Reconciler, log logr.Logger) (add func(name string)) {
	t.Helper()
	options := q.Options()
	options.Reconciler, options.SkipNameValidation, options.Logger = r, new(true), log
	c, err := controller.NewUnmanaged("test", options)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Watch(q.Source()); err != nil {
		t.Fatal(err)
	}
	if err := c.Watch(source.Func(func(_ context.Context, w queue) error {
		add = func(name string) {
			w.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}})
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return add
}
