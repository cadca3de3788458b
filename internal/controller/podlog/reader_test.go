package podlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// scripted are logs that name themselves, and list what was read.
type scripted struct {
	// fails is the number of reads that fail with err.
	fails int
	err   error
	reads []string
}

func (s *scripted) Tail(_ context.Context, pod types.NamespacedName, container string, lines int32, previous bool) (string, error) {
	s.reads = append(s.reads, fmt.Sprintf("%s/%s %d %t", pod, container, lines, previous))
	if len(s.reads) <= s.fails {
		return "", s.err
	}
	return fmt.Sprintf("read %d", len(s.reads)), nil
}

// tested is a Reader whose queues the test drives.
type tested struct {
	*Reader
	t     *testing.T
	logs  *scripted
	clock *testclock.FakePassiveClock
	// enqueued are the requests in the queue, notified the exporters that were notified.
	enqueued, notified []string
}

func newTested(t *testing.T) *tested {
	r := &tested{t: t, logs: &scripted{}, clock: testclock.NewFakePassiveClock(start)}
	r.Reader = NewReader(r.logs, r.clock)
	r.onAsked(func(request ctrl.Request) { r.enqueued = append(r.enqueued, request.String()) })
	r.onKnown(func(exporter ctrl.Request) { r.notified = append(r.notified, exporter.Name) })
	return r
}

func (r *tested) expect(what string, got *[]string, want ...string) {
	r.t.Helper()
	slices.Sort(*got)
	if diff := cmp.Diff(want, *got); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	*got = nil
}

// ask asks for a log that the status does not have, and returns what is known of it.
func (r *tested) ask(exporter string, run Run) (log Log, isKnown bool) {
	log, isKnown = r.Ask(in(exporter), map[Run]Log{run: {}})[run]
	return log, isKnown
}

// reconcile returns the time until the next one.
func (r *tested) reconcile(run Run) time.Duration {
	r.t.Helper()
	result, err := r.Reconcile(r.t.Context(), run.request())
	if err != nil {
		r.t.Fatal(err)
	}
	return result.RequeueAfter
}

func in(name string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: name} }

func runOf(pod string, restarts int32) Run {
	return Run{Pod: in(pod), UID: "uid", Container: "app", Restarts: restarts, Lines: 3}
}

// A run that several exporters ask for is read once, all of them are notified, and it is
// forgotten when none asks any more.
func TestRunsAreShared(t *testing.T) {
	r := newTested(t)
	run := runOf("app-0", 0)
	for _, exporter := range []string{"a", "b", "a"} {
		if log, isKnown := r.ask(exporter, run); isKnown {
			t.Errorf("before the log is read: got %v", log)
		}
	}
	r.expect("requests", &r.enqueued, "shop/app-0/app/0/3/uid")
	r.reconcile(run)
	r.expect("reads", &r.logs.reads, "shop/app-0/app 3 false")
	r.expect("notified exporters", &r.notified, "a", "b")
	for _, exporter := range []string{"a", "b", "c"} {
		if log, _ := r.ask(exporter, run); log.Current != "read 1" {
			t.Errorf("when the log is known to %s: got %v", exporter, log)
		}
	}
	r.Ask(in("a"), nil)
	if log, _ := r.ask("b", run); log.Current != "read 1" {
		t.Errorf("when another exporter no longer asks: got %v", log)
	}
	r.reconcile(run)
	r.expect("further reads", &r.logs.reads)

	r.ask("b", runOf("app-0", 1)) // it restarted
	r.reconcile(runOf("app-0", 1))
	r.expect("reads after a restart", &r.logs.reads, "shop/app-0/app 3 false", "shop/app-0/app 3 true")
	r.Ask(in("b"), nil)
	r.Ask(in("c"), nil)
	if len(r.readings)+len(r.of) > 0 {
		t.Errorf("remembered: got %v of %v, want none", r.readings, r.of)
	}
	r.answer(run.request(), Log{Current: "late"}, nil)
	if len(r.readings) > 0 {
		t.Error("a late answer is remembered")
	}
}

// A log that the status has is not asked for, and forgotten once it has arrived there.
func TestRunsInTheStatus(t *testing.T) {
	r := newTested(t)
	run, before := runOf("app-0", 0), Log{Current: "before"}
	known := func(status Log) Log { return r.Ask(in("exporter"), map[Run]Log{run: status})[run] }
	known(before)
	r.expect("requests for a log in the status", &r.enqueued)
	known(Log{})
	known(before) // which is older than the request
	r.reconcile(run)
	read := Log{Current: "read 1"}
	for range 2 {
		if got := known(before); got != read {
			t.Errorf("while the status has what was there before: got %v, want %v", got, read)
		}
	}
	if known(read); len(r.readings)+len(r.of) > 0 {
		t.Errorf("remembered when it is in the status: got %v of %v, want none", r.readings, r.of)
	}
	if known(read); len(r.logs.reads) != 1 {
		t.Errorf("reads: got %v, want one", r.logs.reads)
	}
}

// A failed read is retried, a few times; what ran into its deadline is not, as it would hold a
// worker each time. A missing right is not retried either.
func TestReadsThatFail(t *testing.T) {
	failure := errors.New("connection refused")
	hangs := fmt.Errorf("kubelet: %w", context.DeadlineExceeded)
	notified := []string{"exporter"}
	for name, tc := range map[string]struct {
		err          error
		fails, reads int
		lasts        time.Duration
		want         Log
		notified     []string
	}{
		"the read succeeds":                 {reads: 2, want: Log{Current: "read 1", Previous: "read 2"}, notified: notified},
		"the read fails once":               {err: failure, fails: 1, reads: 3, lasts: 500 * time.Millisecond, want: Log{Current: "read 2", Previous: "read 3"}, notified: notified},
		"the read fails until the last try": {err: failure, fails: 3, reads: 5, lasts: 3500 * time.Millisecond, want: Log{Current: "read 4", Previous: "read 5"}, notified: notified},
		"the read always fails":             {err: failure, fails: 9, reads: 4, lasts: 3500 * time.Millisecond, want: Log{Failed: true}, notified: notified},
		"the read hangs":                    {err: hangs, fails: 9, reads: 1, want: Log{Failed: true}, notified: notified},
		"the read is forbidden":             {err: ErrForbidden, fails: 1, reads: 1, want: Log{Forbidden: true}, notified: notified},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTested(t)
			r.logs.fails, r.logs.err = tc.fails, tc.err
			run := runOf("app-0", 1)
			r.ask("exporter", run)
			for again := r.reconcile(run); again > 0; again = r.reconcile(run) {
				r.clock.SetTime(r.clock.Now().Add(again))
			}
			if lasted := r.clock.Since(start); len(r.logs.reads) != tc.reads || lasted != tc.lasts {
				t.Errorf("got %d reads in %s, want %d in %s", len(r.logs.reads), lasted, tc.reads, tc.lasts)
			}
			r.expect("notified exporters", &r.notified, tc.notified...)
			r.enqueued = nil
			if log, _ := r.ask("exporter", run); log != tc.want {
				t.Errorf("log: got %v, want %v", log, tc.want)
			}
			r.expect("requests when it is asked for again", &r.enqueued)
		})
	}
}

// A missing right concerns all logs of the namespace, until they are asked for again in time.
func TestForbidden(t *testing.T) {
	r := newTested(t)
	r.logs.fails, r.logs.err = 1, ErrForbidden
	first, second := runOf("app-0", 0), runOf("app-1", 0)
	r.ask("a", first)
	r.ask("b", second)
	r.reconcile(first)
	r.reconcile(second)
	r.expect("reads", &r.logs.reads, "shop/app-0/app 3 false")
	r.expect("notified exporters", &r.notified, "a", "b")
	r.enqueued, r.logs.fails = nil, 0

	r.clock.SetTime(start.Add(10*time.Minute - 1))
	for _, run := range []Run{second, runOf("app-1", 1)} {
		if log, _ := r.ask("b", run); !log.Forbidden {
			t.Errorf("while it is forbidden: got %v", log)
		}
	}
	r.expect("requests, too early", &r.enqueued)
	r.clock.SetTime(start.Add(10 * time.Minute))
	r.ask("b", second)
	r.expect("requests", &r.enqueued, "shop/app-1/app/0/3/uid")
	r.reconcile(second)
	if log, _ := r.ask("b", second); log.Current == "" {
		t.Errorf("after the right was granted: got %v", log)
	}
}

// What was asked for before the controller started is read when it does.
func TestAskedBeforeStart(t *testing.T) {
	r := NewReader(&scripted{}, testclock.NewFakePassiveClock(start))
	run := runOf("app-0", 0)
	r.Ask(in("exporter"), map[Run]Log{run: {}})
	var enqueued []ctrl.Request
	r.onAsked(func(request ctrl.Request) { enqueued = append(enqueued, request) })
	if diff := cmp.Diff([]ctrl.Request{run.request()}, enqueued); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
