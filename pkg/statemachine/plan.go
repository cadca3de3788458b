package statemachine

import (
	"fmt"
	"slices"
)

// Phase is the progress of a record. A phase holds only if all phases before it hold.
//
// +kubebuilder:validation:MaxLength=32
type Phase string

// Stage is a phase of a Plan with the name of the transition that leads to it.
type Stage struct {
	Phase      Phase
	Transition string
}

// WayBack is a named transition back to the phase To, from any phase after it.
type WayBack struct {
	Name string
	To   Phase
}

// Plan is an ordered list of phases with the ways back between them. It is immutable and
// safe for concurrent use.
type Plan struct {
	initial  Phase
	stages   []Stage
	waysBack []WayBack
}

// maxPhase is the maximum length of a Phase, and maxConditions the maximum number of
// conditions of a Record.
const maxPhase, maxConditions = 32, 16

// NewPlan returns a Plan that leads from the initial phase through the stages. It
// returns an error for empty or duplicate names, for phases that a Record cannot hold
// (more than 32 bytes, or 16 of them, which leave no condition for Ready), and for ways
// back to an unknown or the last phase.
func NewPlan(initial Phase, stages []Stage, waysBack ...WayBack) (*Plan, error) {
	p := &Plan{initial: initial, stages: slices.Clone(stages), waysBack: slices.Clone(waysBack)}
	phases, transitions := map[Phase]bool{}, map[string]bool{}
	for _, phase := range append([]Phase{initial}, p.Phases()...) {
		if phase == "" || phases[phase] {
			return nil, fmt.Errorf("phase %q is empty or duplicated", phase)
		}
		phases[phase] = true
		if len(phase) > maxPhase {
			return nil, fmt.Errorf("phase %q has more than %d characters", phase, maxPhase)
		}
	}
	if len(stages) >= maxConditions {
		return nil, fmt.Errorf("%d phases: with Ready, a status has at most %d conditions", len(stages), maxConditions)
	}
	var names []string
	for _, s := range stages {
		names = append(names, s.Transition)
	}
	for _, b := range waysBack {
		if !phases[b.To] {
			return nil, fmt.Errorf("way back %q leads to the unknown phase %q", b.Name, b.To)
		}
		if _, ok := p.Next(b.To); !ok {
			return nil, fmt.Errorf("way back %q leads forward: no phase comes after %q", b.Name, b.To)
		}
		names = append(names, b.Name)
	}
	for _, name := range names {
		if name == "" || transitions[name] {
			return nil, fmt.Errorf("transition %q is empty or duplicated", name)
		}
		transitions[name] = true
	}
	return p, nil
}

// MustPlan is like NewPlan, but panics on an error. It is meant for plans that are
// constants of a program.
func MustPlan(initial Phase, stages []Stage, waysBack ...WayBack) *Plan {
	p, err := NewPlan(initial, stages, waysBack...)
	if err != nil {
		panic(err)
	}
	return p
}

// Phases returns the phases in order, without the initial one.
func (p *Plan) Phases() []Phase {
	phases := make([]Phase, len(p.stages))
	for i, s := range p.stages {
		phases[i] = s.Phase
	}
	return phases
}

// Last returns the last phase.
func (p *Plan) Last() Phase {
	if len(p.stages) == 0 {
		return p.initial
	}
	return p.stages[len(p.stages)-1].Phase
}

// Reached reports whether a record in phase at has reached phase q. It is false if the
// plan lacks either phase.
func (p *Plan) Reached(at, q Phase) bool {
	i, j := p.index(at), p.index(q)
	return j >= 0 && i >= j
}

// Next returns the phase after at, and false if at is the last phase or not in the plan.
func (p *Plan) Next(at Phase) (Phase, bool) {
	i := p.index(at)
	if i < 0 || i == len(p.stages) {
		return "", false
	}
	return p.stages[i].Phase, true
}

// Previous returns the phase before at, and false if at is the initial phase or not in
// the plan.
func (p *Plan) Previous(at Phase) (Phase, bool) {
	switch i := p.index(at); {
	case i <= 0:
		return "", false
	case i == 1:
		return p.initial, true
	default:
		return p.stages[i-2].Phase, true
	}
}

// Transitions returns the legal transitions, forward ones first.
func (p *Plan) Transitions() []Transition {
	var all []Transition
	from := p.initial
	for _, s := range p.stages {
		all = append(all, Transition{Name: s.Transition, From: []Phase{from}, To: s.Phase})
		from = s.Phase
	}
	for _, b := range p.waysBack {
		all = append(all, Transition{Name: b.Name, From: p.Phases()[p.index(b.To):], To: b.To})
	}
	return all
}

// Transition is a named move from any of the phases From to the phase To.
type Transition struct {
	Name string
	From []Phase
	To   Phase
}

func (p *Plan) isWayBack(name string) bool {
	return slices.ContainsFunc(p.waysBack, func(b WayBack) bool { return b.Name == name })
}

// index returns 0 for the initial phase, and -1 for a phase that is not in the plan.
func (p *Plan) index(phase Phase) int {
	if phase == p.initial {
		return 0
	}
	if i := slices.Index(p.Phases(), phase); i >= 0 {
		return i + 1
	}
	return -1
}
