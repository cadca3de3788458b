// Package effects is the one seam that every effect outside of this process
// passes: a write to the API, a command in a container, what the helper there is asked
// for, an HTTP request, the reading of a log, the review of a right. It lets them be counted, and lets a test
// end the operator before or after each.
package effects

import (
	"context"
	"fmt"
)

// Kind is what sort of effect it is.
type Kind string

// The kinds of effects.
const (
	Apply  Kind = "apply"
	Delete Kind = "delete"
	Exec   Kind = "exec"
	Helper Kind = "helper"
	HTTP   Kind = "http"
	Logs   Kind = "logs"
	Review Kind = "review"
)

// Effect names one effect: for example the apply of a pod's annotations.
type Effect struct {
	Kind Kind
	// What is done: the field owner for Apply, the verb for Helper.
	What string
	// On is the object it is done to: namespace/name.
	On string
}

// String is a line for logs and test plans.
func (e Effect) String() string { return fmt.Sprintf("%s %s %s", e.Kind, e.What, e.On) }

// Seam performs an effect by calling do, at most once, and returns its error.
// It must be safe for concurrent use.
type Seam func(ctx context.Context, effect Effect, do func(context.Context) error) error

// Direct is the Seam that only performs.
func Direct(ctx context.Context, _ Effect, do func(context.Context) error) error { return do(ctx) }
