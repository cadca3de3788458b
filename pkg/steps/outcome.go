package steps

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Kind is how a step ended.
type Kind int

// The kinds of Outcomes. The zero Kind is none of them, and never a success.
const (
	_ Kind = iota
	// Done: the phase holds. Condition True.
	Done
	// Wait: not yet, and nothing is wrong. Condition Unknown.
	Wait
	// Retry: it failed, and may not the next time. Condition False.
	Retry
	// Stop: it failed, and needs a person. Condition False, the pod is refused.
	Stop
)

// Outcome is the only way a step can end.
type Outcome struct {
	Kind Kind
	// Reason is the condition's; one of apis/v1alpha1.
	Reason string
	// Message is the condition's: one sentence that a person can act on, and
	// that does not change by itself (no times, counts or request IDs).
	Message string
	// Back is the event by which the step found the record out of date, such
	// as a process that is gone; empty otherwise.
	Back statemachine.Event
	// Gone is the process that the step found gone; zero otherwise.
	Gone ProcessIdentity
	// Err is the cause, for the record's last error; nil when Message says all.
	Err error
}

// Status is the status of the phase's condition after this Outcome.
func (o Outcome) Status() metav1.ConditionStatus {
	switch o.Kind {
	case Done:
		return metav1.ConditionTrue
	case Retry, Stop:
		return metav1.ConditionFalse
	default:
		return metav1.ConditionUnknown
	}
}

// Reached is the Outcome of a step whose phase holds.
func Reached(message string) Outcome {
	return Outcome{Kind: Done, Reason: v1alpha1.ReasonReached, Message: message}
}

// NotReached is the Outcome of a step whose phase does not hold for a reason,
// which decides by itself whether to wait, to try again, or to stop.
func NotReached(reason, message string) Outcome {
	o := Outcome{Kind: Retry, Reason: reason, Message: message}
	switch {
	case v1alpha1.NeedsPerson(reason):
		o.Kind = Stop
	case v1alpha1.Passing(reason):
		o.Kind = Wait
	}
	if reason == v1alpha1.ReasonProcessGone {
		o.Back = statemachine.Replaced
	}
	return o
}

// failed is the Outcome of a step whose effect failed with err.
func failed(err error) Outcome {
	var known *transport.Error
	if !errors.As(err, &known) {
		known = &transport.Error{Reason: v1alpha1.ReasonAPIError, Message: "An unexpected error; it is tried again.", Err: err}
	}
	o := NotReached(known.Reason, known.Message)
	o.Err = known.Err
	return o
}
