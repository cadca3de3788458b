// Package statemachine holds the phases of an attachment and which moves
// between them are legal. It knows nothing of Kubernetes and has no effects: a
// Machine is restored from the record for one reconcile and dropped.
package statemachine

import "slices"

// Phase is how far an attachment has come.
type Phase string

// The phases, in their order.
const (
	Pending    Phase = "Pending"
	Discovered Phase = "Discovered"
	JavaFound  Phase = "JavaFound"
	Staged     Phase = "Staged"
	Loaded     Phase = "Loaded"
	Exposed    Phase = "Exposed"
	Annotated  Phase = "Annotated"
)

var order = []Phase{Pending, Discovered, JavaFound, Staged, Loaded, Exposed, Annotated}

// Reached tells whether an attachment in this phase has q behind it, or is in it.
func (p Phase) Reached(q Phase) bool {
	return slices.Index(order, p) >= slices.Index(order, q)
}

// Next is the phase after this one; false after the last and for no phase at all.
func (p Phase) Next() (Phase, bool) {
	i := slices.Index(order, p)
	if i < 0 || i == len(order)-1 {
		return "", false
	}
	return order[i+1], true
}
