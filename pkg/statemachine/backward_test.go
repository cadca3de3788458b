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

// The status no longer records a phase when its Undo begins: after a crash, a walk
// forward ensures the phase again.
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
			t.Errorf("Backward from %q leads to %s", phase, b.batch.State.Phase)
		}
	}
}

// A status of another version of the program can be undone, too.
func TestBackwardFromAnUnknownPhase(t *testing.T) {
	b := newBrewery(t, State{Phase: "Drunk"})
	if got, err := b.backward("k", fermented); err != nil || !got.Arrived || b.batch.State.Phase != mashed {
		t.Errorf("Backward = %+v, %v to %s", got, err, b.batch.State.Phase)
	}
}

// Phases above the failing one are undone again in each try, but do not reset the count of
// the failing phase.
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
			t.Errorf("walk before the retry is due: got %+v, %v; want %+v", early, err, got)
		}
		b.wants()
		b.clock.SetTime(b.clock.Now().Add(got.RequeueAfter))
	}
	// The condition of the phase that cannot be undone has the reason.
	if s := b.batch.State; s.Phase != mashed || s.Reason != reasonOf[Failed] {
		t.Errorf("got state %+v, want Mashed with the reason of the failure", s)
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
		t.Errorf("a queued step changes the state: %+v", s)
	}
	b.undo = nil
	if got, err := b.backward("k", mashed); err != nil || !got.Arrived {
		t.Errorf("Backward = %+v, %v", got, err)
	}
}

// A phase whose Ensure failed is undone nevertheless, and a phase whose Undo failed is
// ensured again: each direction has its own attempts.
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
		t.Errorf("Backward to an unknown phase = %+v, want an error", got)
	}
	b.wants()
}
