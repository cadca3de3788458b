package attachment

import (
	"cmp"
	"context"
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// walkJVM leads one JVM to its endpoint, or back if it is excluded.
func (v *visit) walkJVM(ctx context.Context, j *steps.JVM) (statemachine.Result, error) {
	state := j.State()
	walk := walkOf(v, steps.JVMSteps(), j.Key())
	walk.Persist = func(ctx context.Context) error {
		j.SetState(state)
		if state.Phase == steps.Exposed { // annotate persists it together with its own
			return nil
		}
		return v.persist(ctx)
	}
	walk.Gate = func(next statemachine.Phase) *statemachine.Outcome { return v.gate(ctx, j, next) }
	switch {
	case j.Process.Excluded && (steps.MayHaveAgent(j.Process) || j.Process.Endpoint != nil):
		return walk.Backward(ctx, j, &state, steps.Staged)
	case j.Process.Excluded, !steps.Plan.Reached(state.Phase, steps.JavaFound), j.AwaitsPrimary():
		return statemachine.Result{}, nil
	}
	return walk.Forward(ctx, j, &state, steps.Exposed)
}

// fewestTriesFirst returns the processes of the record in the order of their walks:
// processes in containers that hang may use up the time of a reconcile, and come last.
func (v *visit) fewestTriesFirst() []*v1alpha1.JavaProcess {
	all := v.scope.Filter(func(*v1alpha1.JavaProcess) bool { return true })
	slices.SortStableFunc(all, func(a, b *v1alpha1.JavaProcess) int { return cmp.Compare(a.Attempt.Tries(), b.Attempt.Tries()) })
	return all
}

func (v *visit) walk(all []statemachine.Step[*steps.Scope]) *statemachine.Walk[*steps.Scope] {
	walk := walkOf(v, all, v.scope.Key())
	walk.Persist = v.persist
	return walk
}

func walkOf[S any](v *visit, all []statemachine.Step[S], key string) *statemachine.Walk[S] {
	return &statemachine.Walk[S]{
		Plan: steps.Plan, Steps: all, Key: key, KindOf: steps.KindOf, Clock: v.Clock,
		Observe: func(phase statemachine.Phase, outcome statemachine.Outcome, took time.Duration) {
			metrics.ObserveStep(string(phase), outcome.Reason, took)
		},
	}
}
