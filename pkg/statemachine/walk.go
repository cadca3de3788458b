package statemachine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Walk leads one record along a plan. All fields but Gate and Observe are required.
type Walk[S any] struct {
	Plan *Plan
	// Steps are those of the plan's phases, in any order; those that this Walk does
	// not lead through may be missing.
	Steps []Step[S]
	// Key names all that an attempt depends on: see Attempt.
	Key string
	// KindOf classifies the reasons of Outcomes.
	KindOf func(reason string) Kind
	// Gate is asked before a phase is ensured: an Outcome, never Done, keeps it from
	// being tried and is recorded as that of a try; nil lets it pass.
	Gate func(next Phase) *Outcome
	// Persist writes the record if it differs from what was written last.
	Persist func(ctx context.Context) error
	// Observe receives each Outcome of Ensure, or of Announce instead of it, and those
	// of Undo that are not Done, before they are persisted. What is Queued was not tried.
	Observe func(phase Phase, outcome Outcome, took time.Duration)
	Clock   clock.PassiveClock
}

// Result is where a walk ended.
type Result struct {
	// RequeueAfter is the time after which to walk again without an event; 0 for
	// never.
	RequeueAfter time.Duration
	// Arrived reports whether the walk came to its end.
	Arrived bool
}

// QueuedFor is how long a step waits at most that found no room: an event should
// announce it before.
const QueuedFor = 5 * time.Second

// Forward ensures one phase after the other, until one does not hold or the last
// one is reached. The record is persisted before each Step that is no Observer, and at
// the end: after an error, the record as it was persisted is true.
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

// Backward undoes the phases from the last one down to first, which is undone too.
// What was never reached is undone as well, since an effect may have happened whose
// record was lost: steps undo what is there. A phase stops holding in the record
// before it is undone, so that the record as it was persisted is true here, too.
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

// stop ends a walk until an event, the backoff, or the time that is known better.
func (w *Walk[S]) stop(ctx context.Context, state *State, known time.Duration) (Result, error) {
	return w.end(ctx, Result{RequeueAfter: cmp.Or(known, state.RequeueAfter(w.KindOf, w.Clock.Now()))})
}

// queued leaves the record as it is: nothing was tried.
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
