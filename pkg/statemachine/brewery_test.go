package statemachine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

// batch is the record of a brewery.
type batch struct {
	State   State
	Pitched bool // the intent to ferment
	looks   bool // the intent was recorded in an earlier walk; not persisted
}

func (b *batch) encode(t *testing.T) string {
	t.Helper()
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decode(t *testing.T, data string) *batch {
	t.Helper()
	b := &batch{}
	if err := json.Unmarshal([]byte(data), b); err != nil {
		t.Fatal(err)
	}
	return b
}

// brewery logs the effects of a Walk on its batch: each step ends with its scripted
// outcome, Done by default.
type brewery struct {
	t          *testing.T
	clock      *clocktesting.FakePassiveClock
	batch      *batch
	written    string
	ensure     map[Phase]Outcome
	undo       map[Phase]Outcome
	gate       map[Phase]Outcome
	announce   map[Phase]Outcome
	writesLeft int // until Persist fails
	log        []string
}

func newBrewery(t *testing.T, state State) *brewery {
	b := &brewery{t: t, clock: clocktesting.NewFakePassiveClock(noon), batch: &batch{State: state}, writesLeft: 100}
	b.written = b.batch.encode(t)
	return b
}

var errWrite = errors.New("the record cannot be written")

func (b *brewery) persist(context.Context) error {
	data := b.batch.encode(b.t)
	if data == b.written {
		return nil
	}
	if b.writesLeft--; b.writesLeft < 0 {
		return errWrite
	}
	b.written = data
	line := "write " + string(b.batch.State.Phase)
	if b.batch.State.Reason != "" {
		line += " " + b.batch.State.Reason
	}
	if b.batch.Pitched {
		line += " pitched"
	}
	b.logf("%s", line)
	return nil
}

func (b *brewery) logf(format string, args ...any) {
	b.log = append(b.log, fmt.Sprintf(format, args...))
}

func (b *brewery) walk(key string) *Walk[*batch] {
	return &Walk[*batch]{
		Plan:   brewing,
		Steps:  []Step[*batch]{observing{scripted{b, tasted}}, scripted{b, mashed}, scripted{b, bottled}, announcing{scripted{b, fermented}}},
		Key:    key,
		KindOf: kindOf,
		Gate: func(next Phase) *Outcome {
			if o, ok := b.gate[next]; ok {
				return &o
			}
			return nil
		},
		Persist: b.persist,
		Observe: func(phase Phase, o Outcome, took time.Duration) {
			if took != time.Second {
				b.t.Errorf("duration of %s: got %s, want 1s", phase, took)
			}
			b.logf("observe %s %s", phase, o.Reason)
		},
		Clock: b.clock,
	}
}

// wants fails the test if the log since the previous call differs.
func (b *brewery) wants(log ...string) {
	b.t.Helper()
	if diff := cmp.Diff(log, b.log); diff != "" {
		b.t.Errorf("log (-want +got):\n%s", diff)
	}
	b.log = nil
}

// scripted is a step that takes a second.
type scripted struct {
	*brewery
	phase Phase
}

func (s scripted) Phase() Phase { return s.phase }

func (s scripted) Ensure(context.Context, *batch) Outcome { return s.do("ensure", s.ensure) }
func (s scripted) Undo(context.Context, *batch) Outcome   { return s.do("undo", s.undo) }

func (s scripted) do(verb string, script map[Phase]Outcome) Outcome {
	s.logf("%s %s", verb, s.phase)
	s.clock.SetTime(s.clock.Now().Add(time.Second))
	if o, ok := script[s.phase]; ok {
		return o
	}
	return Outcome{Kind: Done}
}

type announcing struct{ scripted }

func (a announcing) Announce(_ context.Context, b *batch) *Outcome {
	if o, ok := a.announce[a.phase]; ok {
		a.clock.SetTime(a.clock.Now().Add(time.Second))
		return &o
	}
	b.Pitched = true
	return nil
}

type observing struct{ scripted }

func (observing) OnlyObserves() {}
