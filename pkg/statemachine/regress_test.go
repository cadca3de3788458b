package statemachine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegress(t *testing.T) {
	tried := State{Phase: tasted, Reason: reasonOf[Refused], Attempt: &Attempt{Key: "k", Phase: bottled, Count: 3}}
	for name, tc := range map[string]struct {
		state   State
		back    string
		want    State
		changed bool
		refused bool
	}{
		"the state regresses":                  {state: tried, back: "Soured", want: State{Phase: mashed, Reason: "Sour", Message: "It is sour.", Attempt: &Attempt{Key: "k", Phase: bottled, Count: 3}}, changed: true},
		"the phase was not reached yet":        {state: tried, back: "Broke", want: tried},
		"the record is new":                    {back: "Spilled"},
		"the way back is unknown":              {state: tried, back: "Exploded", want: tried, refused: true},
		"the way back is empty":                {state: tried, want: tried, refused: true},
		"the way back is a transition forward": {state: tried, back: "Bottle", want: tried, refused: true},
		"the phase is unknown":                 {state: State{Phase: "Drunk"}, back: "Spilled", want: State{Phase: "Drunk"}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			state := tc.state
			changed, err := brewing.Regress(&state, Cause{Back: tc.back, Reason: "Sour", Message: "It is sour."})
			if changed != tc.changed || (err != nil) != tc.refused {
				t.Errorf("Regress: got %t, %v", changed, err)
			}
			if diff := cmp.Diff(tc.want, state); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// A step that fails after each regress is retried at growing intervals; the steps before it
// are not delayed.
func TestRegressKeepsTheCount(t *testing.T) {
	b := newBrewery(t, State{Phase: tasted})
	b.ensure = map[Phase]Outcome{bottled: outcomeOf(Failed)}
	for count := range int32(8) {
		b.log = nil
		if _, err := b.forward("k", bottled); err != nil {
			t.Fatal(err)
		}
		if a := b.batch.State.Attempt; a == nil || a.Phase != bottled || a.Count != count+1 {
			t.Fatalf("round %d: %q, attempt %+v", count+1, b.log, a)
		}
		if changed, err := brewing.Regress(&b.batch.State, Cause{Back: "Soured", Reason: "Sour"}); err != nil || !changed {
			t.Fatalf("round %d: changed %t, %v", count+1, changed, err)
		}
	}
	if again := b.batch.State.Attempt; again.NextTime != nil {
		t.Errorf("the steps up to the earlier phase are delayed until %s", again.NextTime)
	}
}
