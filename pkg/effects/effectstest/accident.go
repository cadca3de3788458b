// Package effectstest injects faults at the effects of an operator in tests. Whatever
// fails at whichever effect, the operator must reach the same final state.
//
// A test records the effects of a run, creates a Plan from them, and repeats the run
// once for each Accident of the plan. Perform replaces the call of each effect in the
// Seam.
package effectstest

import (
	"errors"
	"fmt"
	"sync"
)

// Kind is the kind of an accident.
type Kind string

// The kinds of accidents.
const (
	// DiesBefore crashes the operator before the effect: neither this effect nor any
	// other is performed until Restart.
	DiesBefore Kind = "dies before"
	// DiesAfter crashes the operator after the effect, before it sees the result.
	DiesAfter Kind = "dies after"
	// IsRefused fails the effect without performing it.
	IsRefused Kind = "is refused"
	// LosesAnswer performs the effect, but reports it as failed.
	LosesAnswer Kind = "loses the answer"
)

// deadly reports whether the operator crashes.
func (k Kind) deadly() bool { return k == DiesBefore || k == DiesAfter }

// ErrAccident is the error of an effect at which an accident happens, and of each effect
// that a crashed operator tries.
var ErrAccident = errors.New("accident injected by the test")

// Accident happens at one effect of a run. It is safe for concurrent use.
type Accident struct {
	Kind Kind
	// Effect is the name of the effect, and Nth its occurrence under that name, starting
	// at 1.
	Effect string
	Nth    int

	mu       sync.Mutex
	seen     int
	happened bool
	ended    bool
}

// Plan returns an Accident of each kind for each recorded effect, in order. Effects are
// identified by name, since their order may differ between runs.
func Plan(recorded []string, kinds ...Kind) []*Accident {
	var plan []*Accident
	seen := map[string]int{}
	for _, effect := range recorded {
		seen[effect]++
		for _, kind := range kinds {
			plan = append(plan, &Accident{Kind: kind, Effect: effect, Nth: seen[effect]})
		}
	}
	return plan
}

// String returns a name for a subtest.
func (a *Accident) String() string { return fmt.Sprintf("%s %s, %d", a.Kind, a.Effect, a.Nth) }

// Perform performs the named effect, unless the operator has crashed or the accident
// prevents it. A nil Accident performs all effects.
func (a *Accident) Perform(effect string, do func() error) error {
	if a == nil {
		return do()
	}
	ended, happens := a.meet(effect)
	switch {
	case ended:
		return ErrAccident
	case !happens:
		return do()
	case a.Kind == DiesAfter || a.Kind == LosesAnswer:
		_ = do()
	}
	return ErrAccident
}

// meet reports whether the operator has crashed, and whether the accident happens now.
func (a *Accident) meet(effect string) (ended, happens bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return true, false
	}
	if effect == a.Effect {
		a.seen++
	}
	if a.happened || a.seen < a.Nth {
		return false, false
	}
	a.happened, a.ended = true, a.Kind.deadly()
	return false, true
}

// Happened reports whether the accident has happened.
func (a *Accident) Happened() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.happened
}

// Restart reports whether the operator has crashed. A new one then takes its place,
// whose effects are performed.
func (a *Accident) Restart() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	ended := a.ended
	a.ended = false
	return ended
}
