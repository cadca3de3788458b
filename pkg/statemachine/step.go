package statemachine

import "context"

// Step brings one phase of a plan about for a subject S, and undoes it. Steps keep
// nothing between calls, and are safe for concurrent use on different subjects.
type Step[S any] interface {
	// Phase is the phase that this step brings about.
	Phase() Phase

	// Ensure observes, and acts where it must. It is safe to run again after it
	// ran, half ran, or while it still runs.
	Ensure(ctx context.Context, subject S) Outcome

	// Undo takes away what Ensure brought about, as far as it is there. It is as
	// safe to repeat as Ensure.
	Undo(ctx context.Context, subject S) Outcome
}

// Announcer is a Step whose effect must stand in the record before it happens.
type Announcer[S any] interface {
	// Announce puts what Ensure is about to do into the record, which is persisted
	// before Ensure is called. An Outcome, never Done, says that it cannot be begun:
	// it is recorded as that of a try, and the record does not say that it was.
	Announce(ctx context.Context, subject S) *Outcome
}

// Observer is a Step whose Ensure has no effect, or none that it does not observe
// itself before it acts: the record of the phase before it need not be persisted
// first, which saves a write.
type Observer interface{ OnlyObserves() }
