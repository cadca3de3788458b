package enqueue

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestPace(t *testing.T) {
	const ms = time.Millisecond
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	one := reconcile.Request{NamespacedName: types.NamespacedName{Name: "one"}}
	other := reconcile.Request{NamespacedName: types.NamespacedName{Name: "other"}}
	clock := testclock.NewFakePassiveClock(start)
	p := &Pace{Gather: 100 * ms, Period: 1000 * ms, Burst: 2, Clock: clock}
	for _, step := range []struct {
		what    string
		at      time.Duration
		request reconcile.Request
		want    time.Duration // of the reconciliation, relative to the start
	}{
		{"the first event is reconciled soon", 0, one, 100 * ms},
		{"those after it join it", 40 * ms, one, 100 * ms},
		{"the second event of a burst is reconciled soon", 150 * ms, one, 250 * ms},
		{"later events wait for the period", 300 * ms, one, 1100 * ms},
		{"later events join, too", 700 * ms, one, 1100 * ms},
		{"another request has its own pace", 700 * ms, other, 800 * ms},
		{"an event follows a delayed reconciliation", 1110 * ms, one, 2100 * ms},
		{"an event is near the end of a period", 3050 * ms, one, 3150 * ms},
		{"an event in the next period is no burst", 3200 * ms, one, 4100 * ms},
		{"an event follows a long time after", time.Hour, one, time.Hour + 100*ms},
		{"a second burst follows", time.Hour + 150*ms, one, time.Hour + 250*ms},
	} {
		clock.SetTime(start.Add(step.at))
		if got := step.at + p.Delay(step.request); got != step.want {
			t.Errorf("%s: reconciled at %s, want %s", step.what, got, step.want)
		}
	}
	clock.SetTime(start.Add(2 * time.Hour))
	p.Delay(reconcile.Request{NamespacedName: types.NamespacedName{Name: "new"}})
	if len(p.paced) != 1 {
		t.Errorf("remembered requests: got %d, want 1", len(p.paced))
	}
}
