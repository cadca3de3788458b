package statemachine

import "context"

// Step brings about one phase of a plan for a subject S, and undoes it. Steps keep no
// state between calls and are safe for concurrent use on different subjects.
type Step[S any] interface {
	// Phase returns the phase that this step brings about.
	Phase() Phase

	// Ensure observes, and acts if necessary. It is safe to call again after it
	// succeeded, failed halfway, or while an earlier call is still running.
	Ensure(ctx context.Context, subject S) Outcome

	// Undo removes the effects of Ensure, as far as they exist. It is as safe to repeat
	// as Ensure.
	Undo(ctx context.Context, subject S) Outcome
}

// Announcer is a Step whose intent must be persisted before its effect.
type Announcer[S any] interface {
	// Announce writes the intent of Ensure into the record, which is persisted before
	// Ensure is called. If it returns an Outcome, which is never Done, the step cannot
	// begin: the Outcome is recorded like that of a try, without the intent.
	Announce(ctx context.Context, subject S) *Outcome
}

// Observer is a Step whose Ensure has no effect, or only effects that it observes before
// it acts. The record of the previous phase need not be persisted first, which saves a
// write.
type Observer interface{ OnlyObserves() }

// NoUndo is embedded by a Step for a subject S that leaves nothing behind to undo, for
// example because owner references delete it.
type NoUndo[S any] struct{}

// Undo implements Step.
func (NoUndo[S]) Undo(context.Context, S) Outcome { return Outcome{Kind: Done} }

// Observe returns a Step for a phase that others bring about. Its Ensure only checks:
// check returns why the phase does not hold, nil if it does, and is a pure function.
func Observe[S any](phase Phase, check func(subject S) *Outcome) Step[S] {
	return observed[S]{phase: phase, check: check}
}

type observed[S any] struct {
	NoUndo[S]
	phase Phase
	check func(S) *Outcome
}

// Phase implements Step.
func (o observed[S]) Phase() Phase { return o.phase }

// OnlyObserves implements Observer.
func (observed[S]) OnlyObserves() {}

// Ensure implements Step.
func (o observed[S]) Ensure(_ context.Context, subject S) Outcome {
	return DoneUnless(o.check(subject))
}
