// Package statemachine is an engine for operators that bring something to a goal
// in persisted phases: a Plan is the phases as data, a Step brings one about or
// undoes it, and a Walk leads a record along the plan, forward or backward.
//
// It is a library of verbs. A reconciler reads and observes, decides with a pure
// function what no longer holds (Plan.Regress), calls Walk.Forward or
// Walk.Backward, and returns what they answer. The package knows no Kubernetes
// kind, keeps nothing between calls, and has no effects of its own.
package statemachine
