// Package effects is the single seam that every effect outside this process passes
// through: API writes, commands in containers, helper calls, HTTP requests, log reads,
// access reviews. It allows counting them, and lets tests crash the operator before or
// after each one.
package effects

import (
	"context"
	"fmt"
)

// Kind is the kind of an effect.
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

// Effect describes one effect, such as the apply of a pod's annotations.
type Effect struct {
	Kind Kind
	// What is the operation: the field owner for Apply, the verb for Helper.
	What string
	// On is the target of the effect: namespace/name.
	On string
}

// String returns a line for logs and test plans.
func (e Effect) String() string { return fmt.Sprintf("%s %s %s", e.Kind, e.What, e.On) }

// Seam performs an effect by calling do at most once, and returns its error. It must be
// safe for concurrent use.
type Seam func(ctx context.Context, effect Effect, do func(context.Context) error) error

// Direct is a Seam that only performs the effect.
func Direct(ctx context.Context, _ Effect, do func(context.Context) error) error { return do(ctx) }
