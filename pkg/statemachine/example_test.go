package statemachine_test

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// site is the input of a reconciler: the record, and its observation.
type site struct {
	State statemachine.State
	Built bool
}

type build struct{}

func (build) Phase() statemachine.Phase { return "Built" }

func (build) Ensure(_ context.Context, s *site) statemachine.Outcome {
	s.Built = true
	return statemachine.Outcome{Kind: statemachine.Done}
}

func (build) Undo(_ context.Context, s *site) statemachine.Outcome {
	s.Built = false
	return statemachine.Outcome{Kind: statemachine.Done}
}

type open struct{}

func (open) Phase() statemachine.Phase { return "Open" }

func (open) Ensure(context.Context, *site) statemachine.Outcome {
	return statemachine.Outcome{
		Kind: statemachine.Refused, Reason: "NoPermit", Message: "The permit is missing; apply for it at the town hall.",
	}
}

func (open) Undo(context.Context, *site) statemachine.Outcome {
	return statemachine.Outcome{Kind: statemachine.Done}
}

// A reconciler observes, regresses the record if a phase no longer holds, walks,
// and returns the result of the walk.
func Example() {
	plan := statemachine.MustPlan("Planned",
		[]statemachine.Stage{{Phase: "Built", Transition: "Build"}, {Phase: "Open", Transition: "OpenUp"}},
		statemachine.WayBack{Name: "BurntDown", To: "Planned"})
	s := &site{State: statemachine.State{Phase: "Built"}}
	walk := &statemachine.Walk[*site]{
		Plan:  plan,
		Steps: []statemachine.Step[*site]{build{}, open{}},
		Key:   "generation 1",
		KindOf: func(reason string) statemachine.Kind {
			return map[string]statemachine.Kind{"NoPermit": statemachine.Refused, "Fire": statemachine.Failed}[reason]
		},
		Persist: func(context.Context) error { return nil },
		Clock:   clock.RealClock{},
	}

	if !s.Built {
		changed, err := plan.Regress(&s.State, statemachine.Cause{Back: "BurntDown", Reason: "Fire", Message: "The house burnt down."})
		fmt.Println("regressed:", changed, err)
	}
	result, err := walk.Forward(context.Background(), s, &s.State, "Open")
	fmt.Println(s.State.Phase, s.State.Reason, result.Arrived, err)

	result, err = walk.Backward(context.Background(), s, &s.State, "Built")
	fmt.Println(s.State.Phase, s.Built, result.Arrived, err)
	// Output:
	// regressed: true <nil>
	// Built NoPermit false <nil>
	// Planned false true <nil>
}
