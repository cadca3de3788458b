package statemachine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/looplab/fsm"
)

// Machine is the position of one record in a Plan. It is not safe for concurrent use.
type Machine struct {
	plan *Plan
	fsm  *fsm.FSM
}

// Restore returns a Machine in the recorded phase; empty means the initial phase. It
// returns an error for a phase that is not in the plan: looplab/fsm would accept any
// state and fail at every event.
func (p *Plan) Restore(recorded Phase) (*Machine, error) {
	recorded = cmp.Or(recorded, p.initial)
	if p.index(recorded) < 0 {
		return nil, fmt.Errorf("unknown phase %q", recorded)
	}
	return &Machine{plan: p, fsm: p.newFSM(recorded)}, nil
}

// Phase returns the current phase.
func (m *Machine) Phase() Phase { return Phase(m.fsm.Current()) }

// Can reports whether the transition is legal in the current phase.
func (m *Machine) Can(transition string) bool { return m.fsm.Can(transition) }

// Fire moves the Machine. It returns an error and does not move if the transition is not
// legal in the current phase.
func (m *Machine) Fire(transition string) error {
	// With a cancelable context, looplab/fsm can stay in transition forever (its issue
	// 115). A transition takes no time, so it needs none.
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

// Diagram returns the plan as a Mermaid state diagram.
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
	// No callbacks: effects belong to the steps, and looplab/fsm has already moved when
	// a callback fails.
	return fsm.NewFSM(string(initial), events, nil)
}
