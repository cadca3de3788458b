package statemachine

import "fmt"

// Cause is the reason why a record goes back: a way back, and an accurate message.
type Cause struct {
	// Back is the name of a WayBack.
	Back string
	// Reason and Message become those of the condition of the lost phase.
	Reason, Message string
}

// Regress takes a State back for a Cause. It reports whether the phase changed; a record
// that has not come that far stays as it is. The attempt count is kept, so that a phase
// that fails after each way back is retried with growing delays; the phases before it
// are not delayed.
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
	*state = State{Phase: m.Phase(), Reason: cause.Reason, Message: cut(cause.Message), Attempt: state.Attempt}
	if a := state.Attempt; a != nil {
		attempt := *a
		attempt.NextTime = nil
		state.Attempt = &attempt
	}
	return true, nil
}
