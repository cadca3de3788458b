package statemachine

import (
	gocmp "cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func forward(ctx context.Context, w *Walk[*batch], b *batch) (Result, error) {
	return w.Forward(ctx, b, &b.State, bottled)
}

func backward(ctx context.Context, w *Walk[*batch], b *batch) (Result, error) {
	return w.Backward(ctx, b, &b.State, mashed)
}

// TestFaults injects each fault at each effect of a walk, and continues from the persisted
// record: to the same end, or in the other direction.
func TestFaults(t *testing.T) {
	nothing := map[Phase]bool{}
	everything := map[Phase]bool{mashed: true, fermented: true, bottled: true}
	soured := map[Phase]bool{mashed: true, bottled: true}
	mend := func(ctx context.Context, w *Walk[*batch], b *batch) (Result, error) {
		if brewing.Reached(b.State.Phase, fermented) && !w.Steps[0].(vessel).facts[fermented] {
			if _, err := brewing.Regress(&b.State, Cause{Back: "Soured", Reason: "Sour", Message: "It is sour."}); err != nil {
				return Result{}, err
			}
		}
		return forward(ctx, w, b)
	}
	for name, tc := range map[string]struct {
		facts       map[Phase]bool
		record      batch
		first, then reconcile
		effects     int // of the first walk, without a fault
		end         Phase
	}{
		"forward": {
			facts: nothing, first: forward, then: forward, effects: 6, end: bottled,
		},
		"forward, then backward": {
			facts: nothing, first: forward, then: backward, effects: 6, end: ordered,
		},
		"backward": {
			facts: everything, record: batch{State: State{Phase: bottled}, Pitched: true},
			first: backward, then: backward, effects: 7, end: ordered,
		},
		"backward, then forward": {
			facts: everything, record: batch{State: State{Phase: bottled}, Pitched: true},
			first: backward, then: forward, effects: 7, end: bottled,
		},
		"regress and forward": {
			facts: soured, record: batch{State: State{Phase: bottled}, Pitched: true},
			first: mend, then: mend, effects: 4, end: bottled,
		},
		"regress and forward, then backward": {
			facts: soured, record: batch{State: State{Phase: bottled}, Pitched: true},
			first: mend, then: backward, effects: 4, end: ordered,
		},
		"regress from a step and forward": {
			facts: soured, record: batch{State: State{Phase: fermented}, Pitched: true},
			first: forward, then: forward, effects: 4, end: bottled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := func(t *testing.T) *world {
				return &world{
					t: t, clock: clocktesting.NewFakePassiveClock(noon),
					facts: maps.Clone(tc.facts), record: tc.record.encode(t),
				}
			}
			sound := start(t)
			sound.arrive(tc.first, tc.first)
			if sound.effects != tc.effects {
				t.Fatalf("effects: got %d, want %d", sound.effects, tc.effects)
			}
			for n := 1; n <= tc.effects; n++ {
				for _, f := range []fault{crashBefore, crashAfter, refused, answerLost} {
					t.Run(fmt.Sprintf("%s effect %d", f, n), func(t *testing.T) {
						w := start(t)
						w.faultAt, w.fault = n, f
						w.arrive(tc.first, tc.then)
						w.isAt(tc.end)
						effects := w.effects
						if got, err := w.operate(tc.then); err != nil || !got.Arrived || w.effects != effects {
							t.Errorf("a walk after the arrival: got %+v, %v and %d more effects, want none", got, err, w.effects-effects)
						}
					})
				}
			}
		})
	}
}

// arrive runs operators one after the other, as a workqueue would: on the first walk up to
// the fault, then on the other walk until it ends.
func (w *world) arrive(first, then reconcile) {
	w.t.Helper()
	for range 20 {
		way := first
		if w.faultAt > 0 && w.effects >= w.faultAt {
			way = then
		}
		result, err := w.operate(way)
		switch {
		case errors.Is(err, errCrash), errors.Is(err, errRefused), errors.Is(err, errLost):
		case err != nil:
			w.t.Fatal(err)
		case result.Arrived:
			if w.effects < w.faultAt {
				w.t.Fatalf("the walk arrived after %d effects, before the fault", w.effects)
			}
			return
		case result.RequeueAfter <= 0:
			w.t.Fatalf("the walk is not retried: %s", w.record)
		default:
			w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter))
		}
	}
	w.t.Fatalf("the walk does not arrive: %s", w.record)
}

// isAt fails the test if the record or the facts differ from those of the end phase.
func (w *world) isAt(end Phase) {
	w.t.Helper()
	for _, phase := range []Phase{mashed, fermented, bottled} {
		if want := brewing.Reached(end, phase); w.facts[phase] != want {
			w.t.Errorf("fact %s: got %t, want %t", phase, w.facts[phase], want)
		}
	}
	record := decode(w.t, w.record)
	record.State.Phase = gocmp.Or(record.State.Phase, brewing.initial)
	if diff := cmp.Diff(State{Phase: end}, record.State); diff != "" {
		w.t.Errorf("record (-want +got):\n%s", diff)
	}
	if record.Pitched != w.facts[fermented] {
		w.t.Errorf("recorded intent: got %t, want that of the fact", record.Pitched)
	}
}
