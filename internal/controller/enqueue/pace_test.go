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
		want    time.Duration // the reconcile's, against the start
	}{
		{"the first event is answered soon", 0, one, 100 * ms},
		{"those after it join it", 40 * ms, one, 100 * ms},
		{"the second of a burst is answered soon", 150 * ms, one, 250 * ms},
		{"later ones wait for the period", 300 * ms, one, 1100 * ms},
		{"and join, too", 700 * ms, one, 1100 * ms},
		{"another request has its own pace", 700 * ms, other, 800 * ms},
		{"right after a reconcile that waited", 1110 * ms, one, 2100 * ms},
		{"near the end of a period", 3050 * ms, one, 3150 * ms},
		{"one period is one more, not a burst", 3200 * ms, one, 4100 * ms},
		{"a long time after", time.Hour, one, time.Hour + 100*ms},
		{"there is a burst again", time.Hour + 150*ms, one, time.Hour + 250*ms},
	} {
		clock.SetTime(start.Add(step.at))
		if got := step.at + p.delay(step.request); got != step.want {
			t.Errorf("%s: at %s, want %s", step.what, got, step.want)
		}
	}
	clock.SetTime(start.Add(2 * time.Hour))
	p.delay(reconcile.Request{NamespacedName: types.NamespacedName{Name: "new"}})
	if len(p.paced) != 1 {
		t.Errorf("%d requests are remembered", len(p.paced))
	}
}
