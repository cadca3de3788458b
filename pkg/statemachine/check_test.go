package statemachine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLost(t *testing.T) {
	holds := func() *Outcome { return nil }
	fails := func(reason string) func() *Outcome {
		return func() *Outcome { return &Outcome{Kind: Failed, Reason: reason, Message: "It is " + reason + "."} }
	}
	for name, tc := range map[string]struct {
		checks []Check
		want   *Cause
	}{
		"there are no checks":           {nil, nil},
		"all phases hold":               {[]Check{{"Spilled", holds}, {"Soured", holds}}, nil},
		"the first that fails is taken": {[]Check{{"Spilled", holds}, {"Soured", fails("sour")}, {"Broke", fails("broken")}}, &Cause{"Soured", "sour", "It is sour."}},
	} {
		if diff := cmp.Diff(tc.want, Lost(tc.checks...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A phase that others bring about is not persisted before it is checked, and has nothing to undo.
func TestObserve(t *testing.T) {
	b := newBrewery(t, State{Phase: mashed})
	sour := &Outcome{Kind: Awaiting, Reason: reasonOf[Awaiting], Message: "It is sour."}
	var why *Outcome
	walk := b.walk("k")
	walk.Observe = nil
	walk.Steps = []Step[*batch]{
		Observe(fermented, func(*batch) *Outcome { return why }),
		Observe(tasted, func(*batch) *Outcome { return nil }),
	}
	if result, err := walk.Forward(t.Context(), b.batch, &b.batch.State, tasted); err != nil || !result.Arrived {
		t.Errorf("the walk ends with %+v: %v", result, err)
	}
	b.wants("write Tasted")
	b.batch.State, why = State{Phase: mashed}, sour
	if result, err := walk.Forward(t.Context(), b.batch, &b.batch.State, tasted); err != nil || result.Arrived {
		t.Errorf("the walk ends with %+v: %v", result, err)
	}
	b.wants("write Mashed " + reasonOf[Awaiting])
	if outcome := walk.Steps[0].Undo(t.Context(), b.batch); outcome.Kind != Done {
		t.Errorf("Undo: %+v", outcome)
	}
}
