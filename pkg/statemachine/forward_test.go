package statemachine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (b *brewery) forward(key string, last Phase) (Result, error) {
	b.t.Helper()
	return b.walk(key).Forward(b.t.Context(), b.batch, &b.batch.State, last)
}

// goesForward fails the test if Forward returns an error or another result.
func (b *brewery) goesForward(key string, want Result) {
	b.t.Helper()
	if got, err := b.forward(key, bottled); err != nil || got != want {
		b.t.Errorf("Forward = %+v, %v; want %+v", got, err, want)
	}
}

// Each effect follows a write of everything before it, except for Taste, which only
// observes.
func TestForwardGoesInOrder(t *testing.T) {
	b := newBrewery(t, State{})
	b.goesForward("k", Result{Arrived: true})
	b.wants(
		"ensure Mashed", "observe Mashed ",
		"write Mashed pitched", "ensure Fermented", "observe Fermented ",
		"ensure Tasted", "observe Tasted ",
		"write Tasted pitched", "ensure Bottled", "observe Bottled ",
		"write Bottled pitched",
	)
	b.goesForward("k", Result{Arrived: true})
	b.wants()
}

func TestForwardStartsAndEndsWhereItIsTold(t *testing.T) {
	b := newBrewery(t, State{Phase: fermented})
	if got, err := b.forward("k", tasted); err != nil || !got.Arrived {
		t.Errorf("Forward = %+v, %v", got, err)
	}
	b.wants("ensure Tasted", "observe Tasted ", "write Tasted")
	if got, err := b.forward("k", mashed); err != nil || !got.Arrived {
		t.Errorf("Forward to an earlier phase = %+v, %v", got, err)
	}
	b.wants()
}

func TestForwardStops(t *testing.T) {
	for kind, tc := range map[Kind]struct {
		requeue time.Duration // at least; at most a tenth and a second more
		again   []string      // the log of a walk right afterwards
	}{
		Pending:  {time.Second, nil},
		Failed:   {time.Second, nil},
		Refused:  {0, nil},
		Awaiting: {MaxBackoff, []string{"ensure Mashed", "observe Mashed NoMalt"}},
		Broken:   {MaxBackoff, []string{"ensure Mashed", "observe Mashed BrokenKettle"}},
	} {
		reason := reasonOf[kind]
		t.Run(reason, func(t *testing.T) {
			b := newBrewery(t, State{})
			b.ensure = map[Phase]Outcome{mashed: outcomeOf(kind)}
			got, err := b.forward("k", bottled)
			if err != nil || got.Arrived || got.RequeueAfter < tc.requeue || got.RequeueAfter > tc.requeue*11/10+time.Second {
				t.Errorf("Forward = %+v, %v; want about %s", got, err, tc.requeue)
			}
			b.wants("ensure Mashed", "observe Mashed "+reason, "write Ordered "+reason)
			if _, err := b.forward("k", bottled); err != nil {
				t.Error(err)
			}
			b.wants(tc.again...)

			// Another key is another attempt, and its count starts at 1.
			b.ensure = map[Phase]Outcome{mashed: outcomeOf(Failed)}
			if _, err := b.forward("new", bottled); err != nil {
				t.Error(err)
			}
			if a := b.batch.State.Attempt; a == nil || a.Key != "new" || a.Count != 1 {
				t.Errorf("Attempt %+v", a)
			}
		})
	}
}

// A retry time of the step replaces the backoff, in either direction.
func TestRetryAfter(t *testing.T) {
	known := outcomeOf(Pending)
	known.RetryAfter = 42 * time.Second
	script := map[Phase]Outcome{mashed: known}
	b := newBrewery(t, State{})
	b.ensure, b.undo = script, script
	for range 3 {
		b.goesForward("k", Result{RequeueAfter: 42 * time.Second})
		if got, err := b.backward("k", mashed); err != nil || got != (Result{RequeueAfter: 42 * time.Second}) {
			t.Errorf("Backward = %+v, %v", got, err)
		}
	}
	if a := b.batch.State.Attempt; a == nil || a.NextTime != nil {
		t.Errorf("Attempt %+v", a)
	}
}

// A zero Outcome is no success.
func TestForwardStopsAtNoOutcome(t *testing.T) {
	b := newBrewery(t, State{})
	b.ensure = map[Phase]Outcome{mashed: {}}
	b.goesForward("k", Result{RequeueAfter: MaxBackoff})
	if b.batch.State.Phase != ordered {
		t.Errorf("got phase %s, want Ordered", b.batch.State.Phase)
	}
}

func TestForwardTriesAgainInTime(t *testing.T) {
	b := newBrewery(t, State{Phase: tasted})
	b.ensure = map[Phase]Outcome{bottled: outcomeOf(Failed)}
	for count := range int32(15) {
		got, err := b.forward("k", bottled)
		if a := b.batch.State.Attempt; err != nil || a == nil || a.Count != count+1 || a.Phase != bottled {
			t.Fatalf("try %d: %+v, %v, Attempt %+v", count+1, got, err, a)
		}
		b.clock.SetTime(b.clock.Now().Add(got.RequeueAfter))
	}
	b.ensure = nil
	b.goesForward("k", Result{Arrived: true})
	if diff := cmp.Diff(State{Phase: bottled}, b.batch.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestForwardQueuedLeavesTheRecord(t *testing.T) {
	failed := State{Phase: tasted, Reason: reasonOf[Failed], Message: "m", Attempt: &Attempt{Key: "k", Phase: bottled, Count: 3, NextTime: at(-time.Second)}}
	b := newBrewery(t, failed)
	b.ensure = map[Phase]Outcome{bottled: {Kind: Queued}}
	b.goesForward("k", Result{RequeueAfter: QueuedFor})
	b.wants("ensure Bottled")
	if diff := cmp.Diff(failed, b.batch.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}

	// Phases that were reached before it are written.
	b = newBrewery(t, State{Phase: fermented})
	b.gate = map[Phase]Outcome{bottled: {Kind: Queued}}
	b.goesForward("k", Result{RequeueAfter: QueuedFor})
	b.wants("ensure Tasted", "observe Tasted ", "write Tasted")
}

// A step that cannot begin is neither announced in the record nor tried.
func TestForwardDoesNotBegin(t *testing.T) {
	b := newBrewery(t, State{Phase: mashed})
	b.announce = map[Phase]Outcome{fermented: {Kind: Queued}}
	b.goesForward("k", Result{RequeueAfter: QueuedFor})
	b.wants()
	b.announce = map[Phase]Outcome{fermented: outcomeOf(Awaiting)}
	b.goesForward("k", Result{RequeueAfter: MaxBackoff})
	b.wants("observe Fermented NoMalt", "write Mashed NoMalt")
	b.announce = nil
	b.goesForward("k", Result{Arrived: true})
	if !b.batch.Pitched {
		t.Error("the step began without its intent in the record")
	}
}

func TestForwardAsksTheGate(t *testing.T) {
	b := newBrewery(t, State{})
	b.gate = map[Phase]Outcome{fermented: outcomeOf(Awaiting)}
	b.goesForward("k", Result{RequeueAfter: MaxBackoff})
	b.wants("ensure Mashed", "observe Mashed ", "write Mashed NoMalt")
	b.goesForward("k", Result{RequeueAfter: MaxBackoff})
	b.wants()
	b.gate = nil
	b.goesForward("k", Result{Arrived: true})
}

func TestForwardGoesBack(t *testing.T) {
	for name, tc := range map[string]struct {
		back string
		want Phase
	}{
		"the way back is legal":                {"Spilled", ordered},
		"the way back is not legal":            {"Broke", fermented},
		"the way back is unknown":              {"Exploded", fermented},
		"the way back is a transition forward": {"Taste", fermented},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrewery(t, State{Phase: fermented})
			outcome := outcomeOf(Failed)
			outcome.Back = tc.back
			b.ensure = map[Phase]Outcome{tasted: outcome}
			if got, err := b.forward("k", bottled); err != nil || got.Arrived || got.RequeueAfter < time.Second {
				t.Errorf("Forward = %+v, %v", got, err)
			}
			b.wants("ensure Tasted", "observe Tasted BoiledOver", "write "+string(tc.want)+" BoiledOver")
			if a := b.batch.State.Attempt; a == nil || a.Phase != tasted {
				t.Errorf("Attempt %+v", a)
			}
		})
	}
}

// A step that regresses each time is retried at growing intervals, although the phases before
// it succeed each time.
func TestForwardCountsBeyondWaysBack(t *testing.T) {
	b := newBrewery(t, State{})
	outcome := outcomeOf(Failed)
	outcome.Back = "Spilled"
	b.ensure = map[Phase]Outcome{tasted: outcome}
	for count := range int32(5) {
		got, err := b.forward("k", bottled)
		if a := b.batch.State.Attempt; err != nil || a == nil || a.Count != count+1 {
			t.Fatalf("round %d: %+v, %v, Attempt %+v", count+1, got, err, a)
		}
		b.clock.SetTime(b.clock.Now().Add(got.RequeueAfter))
	}
}

// After a failed write, there is no further effect.
func TestForwardEndsWhenPersistFails(t *testing.T) {
	whole := newBrewery(t, State{})
	whole.goesForward("k", Result{Arrived: true})
	for n := range 3 {
		b := newBrewery(t, State{})
		b.writesLeft = n
		if got, err := b.forward("k", bottled); !errors.Is(err, errWrite) || got != (Result{}) {
			t.Errorf("after %d writes: Forward = %+v, %v", n, got, err)
		}
		var want []string
		writes := 0
		for _, line := range whole.log {
			if strings.HasPrefix(line, "write") {
				writes++
			}
			if writes > n {
				break
			}
			want = append(want, line)
		}
		b.wants(want...)
	}
}

func TestForwardRefuses(t *testing.T) {
	b := newBrewery(t, State{Phase: "Drunk"})
	if _, err := b.forward("k", bottled); err == nil {
		t.Error("Forward from an unknown phase succeeds")
	}
	b.batch.State.Phase = ordered
	if got, err := b.forward("k", "Drunk"); err == nil || got.Arrived {
		t.Errorf("Forward to an unknown phase = %+v, want an error", got)
	}
	w := b.walk("k")
	w.Steps = w.Steps[:1]
	if got, err := w.Forward(t.Context(), b.batch, &b.batch.State, bottled); err == nil || got.Arrived {
		t.Errorf("Forward without a step = %+v, want an error", got)
	}
	b.wants()
}
