// Package effectstest has accidents happen to an operator at its effects, in tests: whatever
// happens at whichever of them, an operator must come to the same end.
//
// A test records the effects of a way to its end, makes a Plan of them, and goes each way
// again with one of its Accidents; Perform takes the place of each effect in the Seam.
package effectstest

import (
	"errors"
	"fmt"
	"sync"
)

// Kind is what an accident does.
type Kind string

// The kinds of accidents.
const (
	// DiesBefore ends the operator before the effect: it is not performed, and neither is any
	// other until Restart.
	DiesBefore Kind = "dies before"
	// DiesAfter ends the operator after the effect, which it does not know of.
	DiesAfter Kind = "dies after"
	// IsRefused fails the effect, which is not performed.
	IsRefused Kind = "is refused"
	// LosesAnswer performs the effect, which the operator takes for failed.
	LosesAnswer Kind = "loses the answer"
)

// deadly reports whether the operator ends.
func (k Kind) deadly() bool { return k == DiesBefore || k == DiesAfter }

// ErrAccident is what an effect returns at which an accident happens, and each one that an
// operator tries after its end.
var ErrAccident = errors.New("an accident, as the test wants it")

// Accident happens at one effect of a way. It may be used concurrently.
type Accident struct {
	Kind Kind
	// Effect is the name of the effect, and Nth which one of this name it is, from 1.
	Effect string
	Nth    int

	mu       sync.Mutex
	seen     int
	happened bool
	ended    bool
}

// Plan is an Accident of each kind at each of the effects that were recorded, in their order.
// An effect is known by its name, since the order of some is not that of the next time.
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

// String names it, for a subtest.
func (a *Accident) String() string { return fmt.Sprintf("%s %s, %d", a.Kind, a.Effect, a.Nth) }

// Perform performs the effect of this name, unless the operator has ended or the accident
// keeps it from that. Of a nil Accident, it performs all.
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

// meet reports whether the operator has ended, and whether the accident happens now.
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

// Happened reports whether it happened.
func (a *Accident) Happened() bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.happened
}

// Restart reports whether the operator has ended; another one then takes its place, whose
// effects are performed.
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
