package record

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// maxMessage is the maximum length of the message of one process or container in the
// record, in bytes.
const maxMessage = 1024

// ProcessState returns the state of a process from its entry in the record.
func ProcessState(p *v1alpha1.JavaProcess) statemachine.State {
	return statemachine.State{Phase: statemachine.Phase(p.Phase), Reason: p.Reason, Message: p.Message, Attempt: AttemptOf(p.Attempt)}
}

// SetProcessState writes the state of a process into its entry in the record.
func SetProcessState(p *v1alpha1.JavaProcess, s statemachine.State) {
	p.Phase, p.Reason, p.Message, p.Attempt = v1alpha1.Phase(s.Phase), s.Reason, text.Cut(s.Message, maxMessage), RecordedAttempt(s.Attempt)
}

// ContainerState returns the state of the inspection of a container from its entry in
// the record.
func ContainerState(c *v1alpha1.InspectedContainer) statemachine.State {
	return statemachine.State{Phase: statemachine.Phase(v1alpha1.PhaseDiscovered), Reason: c.Reason, Message: c.Message, Attempt: AttemptOf(c.Attempt)}
}

// SetContainerState writes the state of the inspection of a container into its entry in
// the record.
func SetContainerState(c *v1alpha1.InspectedContainer, s statemachine.State) {
	c.Reason, c.Message, c.Attempt = s.Reason, text.Cut(s.Message, maxMessage), RecordedAttempt(s.Attempt)
}

// AttemptOf returns the engine's attempt for a recorded one; nil for nil.
func AttemptOf(a *v1alpha1.Attempt) *statemachine.Attempt {
	if a == nil {
		return nil
	}
	return &statemachine.Attempt{Key: a.Key, Phase: statemachine.Phase(a.Phase), Count: a.Count, LastError: a.LastError, NextTime: a.NextTime}
}

// RecordedAttempt returns the attempt to record for one of the engine; nil for nil.
func RecordedAttempt(a *statemachine.Attempt) *v1alpha1.Attempt {
	if a == nil {
		return nil
	}
	return &v1alpha1.Attempt{Key: a.Key, Phase: v1alpha1.Phase(a.Phase), Count: a.Count, LastError: text.Cut(a.LastError, 1024), NextTime: a.NextTime}
}

var kinds = map[v1alpha1.ReasonClass]statemachine.Kind{
	v1alpha1.ClassPassing:   statemachine.Pending,
	v1alpha1.ClassAwaited:   statemachine.Awaiting,
	v1alpha1.ClassAwaitsPod: statemachine.Awaiting,
	v1alpha1.ClassFailing:   statemachine.Failed,
	v1alpha1.ClassMended:    statemachine.Broken,
	v1alpha1.ClassRefused:   statemachine.Refused,
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
