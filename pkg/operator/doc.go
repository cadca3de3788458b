// Package operator has what operators on the engine have in common, each part usable
// alone: a Pass leads one object along a plan and persists its status, Children apply
// objects for another one that controls them, NewManager returns a manager with what the
// engine requires of it, and Main runs it.
//
// It joins pkg/statemachine, which has no effects, with pkg/apply, which knows no phases.
// It does not depend on any Kubernetes kind.
package operator
