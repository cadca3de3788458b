package statemachine

import (
	"context"
	"fmt"
	"slices"

	"github.com/looplab/fsm"
)

// Machine is one attachment's state. It is not safe for concurrent use.
type Machine struct{ fsm *fsm.FSM }

// New returns a Machine in the phase Pending.
func New() *Machine { return &Machine{fsm: newFSM(Pending)} }

// Restore builds a Machine in the recorded phase; an empty phase is Pending.
// It refuses a phase that it does not know: looplab/fsm would accept any state
// and fail at every event.
func Restore(recorded Phase) (*Machine, error) {
	if recorded == "" {
		recorded = Pending
	}
	if !slices.Contains(order, recorded) {
		return nil, fmt.Errorf("unknown phase %q", recorded)
	}
	return &Machine{fsm: newFSM(recorded)}, nil
}

// Phase is the current phase.
func (m *Machine) Phase() Phase { return Phase(m.fsm.Current()) }

// Can tells whether the event is legal in the current phase.
func (m *Machine) Can(e Event) bool { return m.fsm.Can(string(e)) }

// Fire moves the Machine; an event that is not legal in the current phase is an
// error and moves nothing.
func (m *Machine) Fire(e Event) error {
	// With a context that can be cancelled, looplab/fsm can stay in transition
	// for good (its issue 115). A move takes no time, so it needs none.
	if err := m.fsm.Event(context.Background(), string(e)); err != nil { //nolint:forbidigo // see above
		return fmt.Errorf("cannot fire %s in phase %s: %w", e, m.Phase(), err)
	}
	return nil
}

func newFSM(initial Phase) *fsm.FSM {
	events := make(fsm.Events, 0, len(transitions))
	for _, t := range transitions {
		from := make([]string, len(t.From))
		for i, p := range t.From {
			from[i] = string(p)
		}
		events = append(events, fsm.EventDesc{Name: string(t.Event), Src: from, Dst: string(t.To)})
	}
	// No callbacks: effects belong to the steps, and a callback that fails
	// leaves looplab/fsm moved all the same.
	return fsm.NewFSM(string(initial), events, nil)
}
