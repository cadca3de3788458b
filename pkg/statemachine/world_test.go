package statemachine

import (
	"context"
	"errors"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"
)

// fault is a fault of one effect of a world.
type fault string

const (
	crashBefore fault = "crash before"
	crashAfter  fault = "crash after"
	refused     fault = "refused"
	answerLost  fault = "answer lost"
)

var (
	errCrash   = errors.New("the operator crashed")
	errRefused = errors.New("the effect was refused")
	errLost    = errors.New("the answer was lost")
)

// world is the state that survives a crash of the operator: facts, and the record of a
// batch. Its effects are numbered, and one of them has a fault.
type world struct {
	t       *testing.T
	clock   *clocktesting.FakePassiveClock
	facts   map[Phase]bool
	record  string
	effects int
	faultAt int
	fault   fault
}

func (w *world) effect(do func()) error {
	w.effects++
	if w.effects != w.faultAt {
		do()
		return nil
	}
	switch w.fault {
	case crashBefore:
		panic(errCrash)
	case crashAfter:
		do()
		panic(errCrash)
	case refused:
		return errRefused
	default:
		do()
		return errLost
	}
}

// set is an effect on a fact. Before it, the record must be true of all other facts, and
// after it also of this one.
func (w *world) set(phase Phase, holds bool) Outcome {
	err := w.effect(func() {
		w.facts[phase] = holds
		recorded := decode(w.t, w.record)
		for p, holds := range w.facts {
			if !holds && brewing.Reached(recorded.State.Phase, p) {
				w.t.Errorf("the record is in %s, although %s does not hold", recorded.State.Phase, p)
			}
		}
	})
	if err != nil {
		return Outcome{Kind: Failed, Reason: reasonOf[Failed], Message: "See the kettle.", Err: err}
	}
	return Outcome{Kind: Done}
}

// operate is one run of an operator: it reads the record and walks.
func (w *world) operate(reconcile reconcile) (result Result, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case errCrash:
			err = errCrash
		default:
			panic(r)
		}
	}()
	b := decode(w.t, w.record)
	return reconcile(w.t.Context(), &Walk[*batch]{
		Plan:   brewing,
		Steps:  []Step[*batch]{vessel{w, mashed}, tank{vessel{w, fermented}}, nose{vessel{w, tasted}}, vessel{w, bottled}},
		Key:    "k",
		KindOf: kindOf,
		Persist: func(context.Context) error {
			data := b.encode(w.t)
			if data == w.record {
				return nil
			}
			return w.effect(func() { w.record = data })
		},
		Clock: w.clock,
	}, b)
}

type reconcile func(context.Context, *Walk[*batch], *batch) (Result, error)

// vessel is a step that observes before it acts.
type vessel struct {
	*world
	phase Phase
}

func (v vessel) Phase() Phase { return v.phase }

func (v vessel) Ensure(context.Context, *batch) Outcome {
	if v.facts[v.phase] {
		return Outcome{Kind: Done}
	}
	return v.set(v.phase, true)
}

func (v vessel) Undo(context.Context, *batch) Outcome {
	if !v.facts[v.phase] {
		return Outcome{Kind: Done}
	}
	return v.set(v.phase, false)
}

// tank may be pitched with yeast only once. It observes first only if an earlier run may
// have pitched it, according to the record.
type tank struct{ vessel }

func (tank) Announce(_ context.Context, b *batch) *Outcome {
	b.looks, b.Pitched = b.Pitched, true
	return nil
}

func (v tank) Ensure(ctx context.Context, b *batch) Outcome {
	switch {
	case b.looks:
		return v.vessel.Ensure(ctx, b)
	case v.facts[v.phase]:
		v.t.Error("the yeast was pitched twice")
	case !decode(v.t, v.record).Pitched:
		v.t.Error("the yeast was pitched without an intent in the record")
	}
	return v.set(v.phase, true)
}

func (v tank) Undo(ctx context.Context, b *batch) Outcome {
	outcome := v.vessel.Undo(ctx, b)
	if outcome.Kind == Done {
		b.Pitched = false
	}
	return outcome
}

// nose has no effect. It regresses if the fact it observes does not hold.
type nose struct{ vessel }

func (nose) OnlyObserves() {}

func (v nose) Ensure(context.Context, *batch) Outcome {
	if !v.facts[fermented] {
		return Outcome{Kind: Failed, Reason: reasonOf[Failed], Message: "It is sour.", Back: "Soured"}
	}
	return Outcome{Kind: Done}
}

func (nose) Undo(context.Context, *batch) Outcome { return Outcome{Kind: Done} }
