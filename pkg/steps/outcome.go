package steps

import (
	"errors"
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

var kinds = map[v1alpha1.ReasonClass]statemachine.Kind{
	v1alpha1.ClassPassing: statemachine.Pending,
	v1alpha1.ClassAwaited: statemachine.Awaiting,
	v1alpha1.ClassFailing: statemachine.Failed,
	v1alpha1.ClassMended:  statemachine.Broken,
	v1alpha1.ClassRefused: statemachine.Refused,
}

// KindOf is the kind of Outcome that a reason of the API stands for. One that is
// unknown failed, and is tried again.
func KindOf(reason string) statemachine.Kind {
	if reason == v1alpha1.ReasonQueued {
		return statemachine.Queued
	}
	if kind, ok := kinds[v1alpha1.ClassOf(reason)]; ok {
		return kind
	}
	return statemachine.Failed
}

// Done is the Outcome of a step whose phase holds.
func Done() statemachine.Outcome { return statemachine.Outcome{Kind: statemachine.Done} }

// NotDone is the Outcome of a step whose phase does not hold for a reason, which
// decides what ends it.
func NotDone(reason, message string) statemachine.Outcome {
	return statemachine.Outcome{Kind: KindOf(reason), Reason: reason, Message: message}
}

// failed is the Outcome of a step whose effect failed with err.
func failed(err error) statemachine.Outcome {
	known, ok := errors.AsType[*transport.Error](err)
	if !ok {
		known = &transport.Error{Reason: v1alpha1.ReasonAPIError, Message: "The API server did not answer as expected; retrying.", Err: err}
	}
	o := NotDone(known.Reason, known.Message)
	o.Err = known.Err
	return o
}

// in names the container that an Outcome is about.
func in(container string, o statemachine.Outcome) statemachine.Outcome {
	o.Message = fmt.Sprintf("Container %s: %s", container, o.Message)
	return o
}
