package statemachine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is how a step ended: whether its phase holds, and what ends it if not.
type Kind int

// The kinds of Outcomes. The zero Kind is none of them, and never a success.
const (
	_ Kind = iota
	// Done: the phase holds.
	Done
	// Pending: nothing is wrong, and it is tried again soon.
	Pending
	// Awaiting: nothing is wrong, and an event announces what ends it.
	Awaiting
	// Failed: it failed, and is tried again at growing intervals.
	Failed
	// Broken: it failed, and an event announces that somebody mended it.
	Broken
	// Refused: it failed, and needs a person: nothing is tried while the key of
	// the attempt stands.
	Refused
	// Queued: there was no room to try it. It is not recorded, and an event announces
	// room.
	Queued
)

// Status is the status of the phase's condition after an Outcome of this kind.
func (k Kind) Status() metav1.ConditionStatus {
	switch k {
	case Done:
		return metav1.ConditionTrue
	case Failed, Broken, Refused:
		return metav1.ConditionFalse
	default:
		return metav1.ConditionUnknown
	}
}

// AwaitsEvent reports whether what ends it is announced by an event, so that
// nothing needs to be tried before.
func (k Kind) AwaitsEvent() bool { return k == Awaiting || k == Broken }

// Outcome is the only way a step can end.
type Outcome struct {
	Kind Kind
	// Reason is a condition's: a word of the API. Empty for Done.
	Reason string
	// Message is one sentence that a person can act on, and that does not change
	// by itself (no times, counts or request IDs).
	Message string
	// Back is the way back of the plan by which the step found the record out of
	// date; empty otherwise. A way back that is not legal is ignored.
	Back string
	// Err is the cause; nil when Message says all.
	Err error
	// RetryAfter is when trying again makes sense, for one who knows: it takes the
	// place of the backoff. 0 for one who does not.
	RetryAfter time.Duration
}
