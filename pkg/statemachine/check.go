package statemachine

// Check is a pure function that finds out from what was observed whether a phase holds,
// and the way back if it does not.
type Check struct {
	// Back is the name of the WayBack to before the phase.
	Back string
	// Lost returns why the phase does not hold; nil if it does.
	Lost func() *Outcome
}

// Lost returns the Cause of the first check that fails, in the order of their phases;
// nil if there is none.
func Lost(checks ...Check) *Cause {
	for _, check := range checks {
		if o := check.Lost(); o != nil {
			return &Cause{Back: check.Back, Reason: o.Reason, Message: o.Message}
		}
	}
	return nil
}
