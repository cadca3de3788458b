package statemachine

import "fmt"

// Cause is why a record goes back: a way of the plan, and a sentence that is true
// of it.
type Cause struct {
	// Back is the name of a WayBack.
	Back string
	// Reason and Message go into the condition of the phase that is lost.
	Reason, Message string
}

// Regress takes a State back by a way of the plan. It reports whether that changed
// its phase: a record that is not that far is not concerned. What was tried counts on,
// so that a phase that fails after each way back is tried less and less often; the
// phases before it are not held up by it.
func (p *Plan) Regress(state *State, cause Cause) (bool, error) {
	if !p.isWayBack(cause.Back) {
		return false, fmt.Errorf("unknown way back %q", cause.Back)
	}
	m, err := p.Restore(state.Phase)
	if err != nil || !m.Can(cause.Back) {
		return false, err
	}
	if err := m.Fire(cause.Back); err != nil {
		return false, err
	}
	*state = State{Phase: m.Phase(), Reason: cause.Reason, Message: cause.Message, Attempt: state.Attempt}
	if a := state.Attempt; a != nil {
		attempt := *a
		attempt.NextTime = nil
		state.Attempt = &attempt
	}
	return true, nil
}
