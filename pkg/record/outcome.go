package record

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

var kinds = map[v1alpha1.ReasonClass]statemachine.Kind{
	v1alpha1.ClassPassing: statemachine.Pending,
	v1alpha1.ClassAwaited: statemachine.Awaiting,
	v1alpha1.ClassFailing: statemachine.Failed,
	v1alpha1.ClassMended:  statemachine.Broken,
	v1alpha1.ClassRefused: statemachine.Refused,
}

// KindOf returns the Kind of a reason of the API. An unknown reason is Failed, and
// retried.
func KindOf(reason string) statemachine.Kind {
	if reason == v1alpha1.ReasonQueued {
		return statemachine.Queued
	}
	if kind, ok := kinds[v1alpha1.ClassOf(reason)]; ok {
		return kind
	}
	return statemachine.Failed
}

// Done returns the Outcome of a step whose phase holds.
func Done() statemachine.Outcome { return statemachine.Outcome{Kind: statemachine.Done} }

// NotDone returns the Outcome of a step whose phase does not hold. The reason decides
// what triggers the next try.
func NotDone(reason, message string) statemachine.Outcome {
	return statemachine.Outcome{Kind: KindOf(reason), Reason: reason, Message: message}
}
