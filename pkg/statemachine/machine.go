package statemachine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/looplab/fsm"
)

// Machine is one record's position in a Plan. It is not safe for concurrent use.
type Machine struct {
	plan *Plan
	fsm  *fsm.FSM
}

// Restore returns a Machine in the recorded phase; an empty one is the initial.
// It refuses a phase that the plan does not have: looplab/fsm would accept any
// state and fail at every event.
func (p *Plan) Restore(recorded Phase) (*Machine, error) {
	recorded = cmp.Or(recorded, p.initial)
	if p.index(recorded) < 0 {
		return nil, fmt.Errorf("unknown phase %q", recorded)
	}
	return &Machine{plan: p, fsm: p.newFSM(recorded)}, nil
}

// Phase is the current phase.
func (m *Machine) Phase() Phase { return Phase(m.fsm.Current()) }

// Can reports whether the transition is legal in the current phase.
func (m *Machine) Can(transition string) bool { return m.fsm.Can(transition) }

// Fire moves the Machine; a transition that is not legal in the current phase is
// an error and moves nothing.
func (m *Machine) Fire(transition string) error {
	// With a context that can be canceled, looplab/fsm can stay in transition
	// for good (its issue 115). A move takes no time, so it needs none.
	if err := m.fsm.Event(context.Background(), transition); err != nil { //nolint:forbidigo // see above
		return fmt.Errorf("cannot fire %s in phase %s: %w", transition, m.Phase(), err)
	}
	return nil
}

// Advance moves the Machine to the next phase.
func (m *Machine) Advance() error {
	i := m.plan.index(m.Phase())
	if i == len(m.plan.stages) {
		return fmt.Errorf("no phase comes after %s", m.Phase())
	}
	return m.Fire(m.plan.stages[i].Transition)
}

// Diagram is the plan as a Mermaid state diagram.
func (p *Plan) Diagram() (string, error) {
	return fsm.VisualizeForMermaidWithGraphType(p.newFSM(p.initial), fsm.StateDiagram)
}

func (p *Plan) newFSM(initial Phase) *fsm.FSM {
	var events fsm.Events
	for _, t := range p.Transitions() {
		from := make([]string, len(t.From))
		for i, phase := range t.From {
			from[i] = string(phase)
		}
		events = append(events, fsm.EventDesc{Name: t.Name, Src: from, Dst: string(t.To)})
	}
	// No callbacks: effects belong to the steps, and a callback that fails
	// leaves looplab/fsm moved all the same.
	return fsm.NewFSM(string(initial), events, nil)
}
