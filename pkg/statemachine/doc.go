// Package statemachine is an engine for operators that reconcile a resource in persisted
// phases. A Plan defines the phases as data, a Step brings about or undoes one phase,
// and a Walk leads a record along the plan, forward or backward.
//
// It is a library, not a framework: a reconciler reads and observes, decides with a pure
// function which phases no longer hold (Plan.Regress), calls Walk.Forward or
// Walk.Backward, and returns their result. The package does not depend on any Kubernetes
// kind, keeps no state between calls, and has no side effects of its own.
package statemachine
