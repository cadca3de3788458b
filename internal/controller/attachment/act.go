package attachment

import (
	"context"
	"fmt"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// act executes one move.
func (v *visit) act(ctx context.Context, move steps.Move) error {
	switch m := move.(type) {
	case steps.RegressJVM:
		if m.Lost != "" {
			v.recordRegress(ctx, m.Lost, m.Cause)
		}
		return m.Apply(v.Situation)
	case steps.RegressPod:
		v.recordRegress(ctx, m.Lost, m.Cause)
		return m.Apply(v.Situation)
	case steps.Change:
		return m.Apply(v.Situation)
	case steps.Persist:
		return v.persist(ctx)
	case steps.PersistDetaching:
		return v.persistBegun(ctx)
	case steps.DecideAgain:
		v.again = true
	case steps.Wait:
		v.after = enqueue.Earliest(v.after, m.After)
	case steps.Hold:
		v.ended, v.after = true, m.After
		return v.write(ctx)
	case steps.Withdraw:
		v.withdrawal = new(steps.Annotate{Tools: v.tools}.Undo(ctx, v.Situation))
		if v.withdrawal.Kind != statemachine.Done {
			v.recordNotWithdrawn(v.withdrawal.Err)
		}
	case steps.FindAgents:
		v.search = v.tools.FindAgents(ctx, v.Situation)
	case steps.Inspect:
		v.Inspection = new(steps.FindJava{Tools: v.tools}.Ensure(ctx, v.Situation))
	case steps.AnnotateEarly:
		steps.Annotate{Tools: v.tools}.Ensure(ctx, v.Situation)
	case steps.WalkPod:
		return v.walkPod(ctx, m)
	case steps.Forward:
		return v.walkJVM(ctx, m.Process, (*jvmWalk).Forward, steps.Exposed)
	case steps.Backward:
		return v.walkJVM(ctx, m.Process, (*jvmWalk).Backward, steps.Staged)
	case steps.Undo:
		return v.undo(ctx, m)
	default:
		return fmt.Errorf("unknown move %T", m)
	}
	return nil
}

// walkPod leads the pod's own phases forward.
func (v *visit) walkPod(ctx context.Context, m steps.WalkPod) error {
	walk := walkOf(steps.PodSteps(v.tools), v.Situation.Key(), v)
	walk.Persist = func(ctx context.Context) error {
		if m.To == steps.JavaFound && steps.Plan.Reached(v.State.Phase, steps.JavaFound) { // its JVMs persist it together with their own
			return nil
		}
		return v.persist(ctx)
	}
	walk.Gate = func(statemachine.Phase) *statemachine.Outcome { return m.Tried }
	result, err := walk.Forward(ctx, v.Situation, &v.State, m.To)
	v.after = enqueue.Earliest(v.after, result.RequeueAfter)
	return err
}

type jvmWalk = statemachine.Walk[*steps.JVM]

// walkJVM leads one JVM through its phases, to one of them.
func (v *visit) walkJVM(ctx context.Context, id record.ProcessIdentity, walks func(*jvmWalk, context.Context, *steps.JVM, *statemachine.State, statemachine.Phase) (statemachine.Result, error), to statemachine.Phase) error {
	v.Walked = append(v.Walked, id)
	j := &steps.JVM{Situation: v.Situation, Process: v.Known(id)}
	state := j.State()
	walk := walkOf(steps.JVMSteps(v.tools), j.Key(), v)
	walk.Gate = j.Gate
	walk.Persist = func(ctx context.Context) error {
		j.SetState(state)
		if state.Phase == steps.Exposed { // the pod persists it together with its own
			return nil
		}
		return v.persist(ctx)
	}
	result, err := walks(walk, ctx, j, &state, to)
	v.after = enqueue.Earliest(v.after, result.RequeueAfter)
	return err
}

// undo takes one JVM back to the start, and keeps the outcome.
func (v *visit) undo(ctx context.Context, m steps.Undo) error {
	j := &steps.JVM{Situation: v.Situation, Process: v.Known(m.Process)}
	state := j.State()
	walk := walkOf(steps.JVMSteps(v.tools), v1alpha1.ReasonDetaching, v)
	walk.Persist = func(context.Context) error { j.SetState(state); return nil }
	result, err := walk.Backward(ctx, j, &state, steps.Staged)
	v.undone = append(v.undone, undone{m, result})
	return err
}

func walkOf[S any](all []statemachine.Step[S], key string, v *visit) *statemachine.Walk[S] {
	return &statemachine.Walk[S]{
		Plan: steps.Plan, Steps: all, Key: key, KindOf: record.KindOf, Clock: v.Clock,
		Observe: func(phase statemachine.Phase, outcome statemachine.Outcome, took time.Duration) {
			metrics.ObserveStep(string(phase), outcome.Reason, took)
		},
	}
}
