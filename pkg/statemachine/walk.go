package statemachine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Walk leads one record along a plan. All fields except Gate and Observe are required.
type Walk[S any] struct {
	Plan *Plan
	// Steps are the steps of the plan, in any order. Steps of phases that this Walk does
	// not pass may be omitted.
	Steps []Step[S]
	// Key identifies everything that an attempt depends on: see Attempt.
	Key string
	// KindOf returns the Kind of an Outcome's reason.
	KindOf func(reason string) Kind
	// Gate is called before a phase is ensured. If it returns an Outcome, which is never
	// Done, the step is not called, and the Outcome is recorded like that of a try.
	Gate func(next Phase) *Outcome
	// Persist writes the record if it differs from the last write.
	Persist func(ctx context.Context) error
	// Observe is called before persisting, for each Outcome of Ensure (or of Announce,
	// if that returned one) and for each Outcome of Undo that is not Done. It is not
	// called for Queued Outcomes, because nothing was tried.
	Observe func(phase Phase, outcome Outcome, took time.Duration)
	Clock   clock.PassiveClock
}

// Result is the result of a Walk.
type Result struct {
	// RequeueAfter is the time after which to walk again without an event; 0 for never.
	RequeueAfter time.Duration
	// Arrived reports whether the walk reached its end.
	Arrived bool
}

// QueuedFor is the maximum time until a Queued step is retried, in case the event that
// announces capacity is missed.
const QueuedFor = 30 * time.Second

// Forward ensures one phase after another, until one does not hold or last is reached.
// The record is persisted before each Step that is not an Observer, and at the end.
// After an error, the persisted record is therefore still accurate.
func (w *Walk[S]) Forward(ctx context.Context, subject S, state *State, last Phase) (Result, error) {
	m, err := w.Plan.Restore(state.Phase)
	if err != nil {
		return Result{}, err
	}
	if w.Plan.index(last) < 0 {
		return Result{}, fmt.Errorf("unknown phase %q", last)
	}
	for next, ok := w.Plan.Next(m.Phase()); ok && w.Plan.Reached(last, next); next, ok = w.Plan.Next(m.Phase()) {
		if state.Blocked(w.Key, w.KindOf, w.Clock.Now()) {
			return w.stop(ctx, state, 0)
		}
		step := w.step(next)
		if step == nil {
			return Result{}, fmt.Errorf("no step leads to phase %s", next)
		}
		var outcome *Outcome
		if w.Gate != nil {
			outcome = w.Gate(next)
		}
		if outcome == nil {
			tried, err := w.try(ctx, step, subject)
			if err != nil {
				return Result{}, err
			}
			outcome = &tried
		}
		if outcome.Kind == Queued {
			return w.queued(ctx)
		}
		if outcome.Kind == Done {
			if err := m.Advance(); err != nil {
				return Result{}, err
			}
		} else if w.Plan.isWayBack(outcome.Back) && m.Can(outcome.Back) {
			if err := m.Fire(outcome.Back); err != nil {
				return Result{}, err
			}
		}
		state.Phase = m.Phase()
		state.Record(next, w.Key, *outcome, w.Clock.Now())
		if outcome.Kind != Done {
			return w.stop(ctx, state, outcome.RetryAfter)
		}
	}
	return w.end(ctx, Result{Arrived: true})
}

func (w *Walk[S]) try(ctx context.Context, step Step[S], subject S) (Outcome, error) {
	start := w.Clock.Now()
	if announcer, ok := step.(Announcer[S]); ok {
		if outcome := announcer.Announce(ctx, subject); outcome != nil {
			w.observe(step.Phase(), *outcome, start)
			return *outcome, nil
		}
	}
	if _, ok := step.(Observer); !ok {
		if err := w.Persist(ctx); err != nil {
			return Outcome{}, err
		}
	}
	start = w.Clock.Now()
	outcome := step.Ensure(ctx, subject)
	w.observe(step.Phase(), outcome, start)
	return outcome, nil
}

// Backward undoes the phases from the last one of the plan down to and including first.
// Phases that the record has not reached are undone, too, since an effect may have
// happened whose record was lost. A phase stops holding in the persisted record before
// it is undone, so the record stays accurate here as well.
func (w *Walk[S]) Backward(ctx context.Context, subject S, state *State, first Phase) (Result, error) {
	if w.Plan.index(first) < 0 {
		return Result{}, fmt.Errorf("unknown phase %q", first)
	}
	key := "undo " + w.Key
	phases := w.Plan.Phases()
	slices.Reverse(phases)
	for _, phase := range phases {
		step := w.step(phase)
		if step == nil || !w.Plan.Reached(phase, first) {
			continue
		}
		if state.Blocked(key, w.KindOf, w.Clock.Now()) {
			return w.stop(ctx, state, 0)
		}
		previous, _ := w.Plan.Previous(phase)
		if !w.Plan.Reached(previous, cmp.Or(state.Phase, w.Plan.initial)) {
			state.Phase = previous
		}
		if err := w.Persist(ctx); err != nil {
			return Result{}, err
		}
		start := w.Clock.Now()
		outcome := step.Undo(ctx, subject)
		if outcome.Kind == Queued {
			return w.queued(ctx)
		}
		state.Record(phase, key, outcome, w.Clock.Now())
		if outcome.Kind != Done {
			w.observe(phase, outcome, start)
			return w.stop(ctx, state, outcome.RetryAfter)
		}
	}
	return w.end(ctx, Result{Arrived: true})
}

// stop ends a walk until an event, the backoff, or the known time of a useful retry.
func (w *Walk[S]) stop(ctx context.Context, state *State, known time.Duration) (Result, error) {
	return w.end(ctx, Result{RequeueAfter: cmp.Or(known, state.RequeueAfter(w.KindOf, w.Clock.Now()))})
}

// queued leaves the record unchanged, because nothing was tried.
func (w *Walk[S]) queued(ctx context.Context) (Result, error) {
	return w.end(ctx, Result{RequeueAfter: QueuedFor})
}

func (w *Walk[S]) end(ctx context.Context, result Result) (Result, error) {
	if err := w.Persist(ctx); err != nil {
		return Result{}, err
	}
	return result, nil
}

func (w *Walk[S]) observe(phase Phase, outcome Outcome, start time.Time) {
	if w.Observe != nil && outcome.Kind != Queued {
		w.Observe(phase, outcome, w.Clock.Since(start))
	}
}

func (w *Walk[S]) step(phase Phase) Step[S] {
	i := slices.IndexFunc(w.Steps, func(s Step[S]) bool { return s.Phase() == phase })
	if i < 0 {
		return nil
	}
	return w.Steps[i]
}
