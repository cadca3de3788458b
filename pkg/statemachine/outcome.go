package statemachine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind classifies an Outcome: whether the phase holds and, if not, what triggers the
// next try.
type Kind int

// The kinds of Outcomes. The zero Kind is invalid, and never a success.
const (
	_ Kind = iota
	// Done: the phase holds.
	Done
	// Pending: nothing is wrong; the step is retried soon.
	Pending
	// Awaiting: nothing is wrong; an event triggers the next try.
	Awaiting
	// Failed: the step failed and is retried with backoff.
	Failed
	// Broken: the step failed; an event that announces the fix triggers the next try.
	Broken
	// Refused: the step failed and a person is needed; it is not retried until the key
	// of the attempt changes.
	Refused
	// Queued: there was no capacity to try the step. The Outcome is not recorded; an
	// event announces capacity.
	Queued
)

// Status returns the condition status of a phase after an Outcome of this kind.
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

// AwaitsEvent reports whether an event triggers the next try, so that no retry is needed
// before.
func (k Kind) AwaitsEvent() bool { return k == Awaiting || k == Broken }

// Outcome is the result of a step.
type Outcome struct {
	Kind Kind
	// Reason is the condition reason; empty for Done.
	Reason string
	// Message is one actionable sentence that is stable over time (no times, counts or
	// request IDs).
	Message string
	// Back names the way back to take if the step found the record out of date; empty
	// otherwise. An illegal way back is ignored.
	Back string
	// Err is the underlying error; nil if Message says it all.
	Err error
	// RetryAfter replaces the backoff if the time of a useful retry is known; 0
	// otherwise.
	RetryAfter time.Duration
}

// DoneUnless returns Done, or the Outcome of a check that found why a phase does not
// hold: see Check.
func DoneUnless(o *Outcome) Outcome {
	if o == nil {
		return Outcome{Kind: Done}
	}
	return *o
}
