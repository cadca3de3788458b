package statemachine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func (b *brewery) backward(key string, first Phase) (Result, error) {
	b.t.Helper()
	return b.walk(key).Backward(b.t.Context(), b.batch, &b.batch.State, first)
}

// A phase is no longer recorded as one that holds when its Undo begins: a walk
// forward after a crash ensures it again.
func TestBackwardUndoesFromTheLastPhase(t *testing.T) {
	b := newBrewery(t, State{Phase: bottled})
	if got, err := b.backward("k", fermented); err != nil || got != (Result{Arrived: true}) {
		t.Errorf("Backward = %+v, %v", got, err)
	}
	b.wants("write Tasted", "undo Bottled", "write Fermented", "undo Tasted", "write Mashed", "undo Fermented")
	if diff := cmp.Diff(State{Phase: mashed}, b.batch.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if got, err := b.backward("k", mashed); err != nil || !got.Arrived || b.batch.State.Phase != ordered {
		t.Errorf("Backward = %+v, %v to %s", got, err, b.batch.State.Phase)
	}
}

func TestBackwardUndoesWhatWasNeverReached(t *testing.T) {
	for _, phase := range []Phase{"", ordered, mashed} {
		b := newBrewery(t, State{Phase: phase})
		if got, err := b.backward("k", fermented); err != nil || !got.Arrived {
			t.Errorf("Backward from %q = %+v, %v", phase, got, err)
		}
		b.wants("undo Bottled", "undo Tasted", "undo Fermented")
		if b.batch.State.Phase != phase {
			t.Errorf("Backward leads from %q to %s", phase, b.batch.State.Phase)
		}
	}
}

// A record of another version of the program can be undone as well.
func TestBackwardFromAnUnknownPhase(t *testing.T) {
	b := newBrewery(t, State{Phase: "Drunk"})
	if got, err := b.backward("k", fermented); err != nil || !got.Arrived || b.batch.State.Phase != mashed {
		t.Errorf("Backward = %+v, %v to %s", got, err, b.batch.State.Phase)
	}
}

// The phases above the one that fails are undone again at each try, and do not make
// it the first.
func TestBackwardCountsFailures(t *testing.T) {
	b := newBrewery(t, State{Phase: bottled})
	b.undo = map[Phase]Outcome{fermented: outcomeOf(Failed)}
	for count := range int32(15) {
		got, err := b.backward("k", mashed)
		a := b.batch.State.Attempt
		if err != nil || got.Arrived || a == nil || a.Count != count+1 || a.Phase != fermented {
			t.Fatalf("try %d: %+v, %v, Attempt %+v", count+1, got, err, a)
		}
		if want := min(time.Second<<count, MaxBackoff); got.RequeueAfter < want || got.RequeueAfter > want*11/10+time.Second {
			t.Errorf("try %d is followed by %s, want about %s", count+1, got.RequeueAfter, want)
		}
		if count > 0 {
			b.wants("undo Bottled", "undo Tasted", "undo Fermented", "observe Fermented BoiledOver", "write Mashed BoiledOver")
		}
		b.log = nil
		if early, err := b.backward("k", mashed); err != nil || early != got {
			t.Errorf("before its time: %+v, %v; want %+v", early, err, got)
		}
		b.wants()
		b.clock.SetTime(b.clock.Now().Add(got.RequeueAfter))
	}
	// The condition of the phase that cannot be undone says why.
	if s := b.batch.State; s.Phase != mashed || s.Reason != reasonOf[Failed] {
		t.Errorf("state %+v", s)
	}
	b.undo = nil
	if got, err := b.backward("k", mashed); err != nil || !got.Arrived {
		t.Errorf("Backward = %+v, %v", got, err)
	}
	b.wants("undo Bottled", "undo Tasted", "undo Fermented", "write Ordered", "undo Mashed")
	if diff := cmp.Diff(State{Phase: ordered}, b.batch.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestBackwardQueued(t *testing.T) {
	b := newBrewery(t, State{Phase: bottled})
	b.undo = map[Phase]Outcome{tasted: {Kind: Queued}}
	if got, err := b.backward("k", mashed); err != nil || got != (Result{RequeueAfter: QueuedFor}) {
		t.Errorf("Backward = %+v, %v", got, err)
	}
	if s := b.batch.State; s.Attempt != nil || s.Reason != "" {
		t.Errorf("what was queued is recorded: %+v", s)
	}
	b.undo = nil
	if got, err := b.backward("k", mashed); err != nil || !got.Arrived {
		t.Errorf("Backward = %+v, %v", got, err)
	}
}

// What could not be brought about is undone all the same, and what could not be
// undone is brought about again: each direction has its own attempts.
func TestTurning(t *testing.T) {
	b := newBrewery(t, State{Phase: fermented})
	b.ensure = map[Phase]Outcome{bottled: outcomeOf(Refused)}
	b.goesForward("k", Result{})
	b.undo = map[Phase]Outcome{bottled: outcomeOf(Refused)}
	b.log = nil
	if got, err := b.backward("k", mashed); err != nil || got != (Result{}) {
		t.Errorf("Backward = %+v, %v", got, err)
	}
	b.wants("undo Bottled", "observe Bottled Forbidden", "write Tasted Forbidden")
	b.ensure = nil
	b.goesForward("k", Result{Arrived: true})
}

func TestBackwardEndsWhenPersistFails(t *testing.T) {
	b := newBrewery(t, State{Phase: bottled})
	b.writesLeft = 1
	if got, err := b.backward("k", mashed); !errors.Is(err, errWrite) || got != (Result{}) {
		t.Errorf("Backward = %+v, %v", got, err)
	}
	b.wants("write Tasted", "undo Bottled")
}

func TestBackwardRefusesAnUnknownPhase(t *testing.T) {
	b := newBrewery(t, State{Phase: bottled})
	if got, err := b.backward("k", "Drunk"); err == nil || got.Arrived {
		t.Errorf("a walk to an unknown phase = %+v", got)
	}
	b.wants()
}
