package statemachine_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/clock"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The plan: a bucket is created, then it replicates. If it is deleted, both are lost.
var bucketPlan = statemachine.MustPlan("Requested",
	[]statemachine.Stage{{Phase: "Created", Transition: "Create"}, {Phase: "Replicated", Transition: "Replicate"}},
	statemachine.WayBack{Name: "Delete", To: "Requested"})

// A cloud is what the operator works on, here in memory.
type cloud struct{ buckets, replicated map[string]bool }

// A bucketRecord is a resource (its name, and what its status persists), as read for one reconcile.
type bucketRecord struct {
	name  string
	state statemachine.State
}

// bucketSteps has what the steps need. Each effect passes the seam.
type bucketSteps struct {
	cloud *cloud
	seam  effects.Seam
}

func (b bucketSteps) call(ctx context.Context, what string, do func()) statemachine.Outcome {
	err := b.seam(ctx, effects.Effect{Kind: effects.HTTP, What: what}, func(context.Context) error { do(); return nil })
	if err != nil {
		return statemachine.Outcome{Kind: statemachine.Failed, Reason: "CloudError", Message: "The cloud's API failed; see the last error.", Err: err}
	}
	return statemachine.Outcome{Kind: statemachine.Done}
}

type create struct{ bucketSteps }

func (create) Phase() statemachine.Phase { return "Created" }

// Ensure may run again after it succeeded: it creates what does not exist.
func (c create) Ensure(ctx context.Context, r *bucketRecord) statemachine.Outcome {
	if c.cloud.buckets[r.name] {
		return statemachine.Outcome{Kind: statemachine.Done}
	}
	return c.call(ctx, "create", func() { c.cloud.buckets[r.name] = true })
}

func (c create) Undo(ctx context.Context, r *bucketRecord) statemachine.Outcome {
	return c.call(ctx, "delete", func() { delete(c.cloud.buckets, r.name) })
}

type replicate struct{ bucketSteps }

func (replicate) Phase() statemachine.Phase { return "Replicated" }

func (s replicate) Ensure(ctx context.Context, r *bucketRecord) statemachine.Outcome {
	return s.call(ctx, "replicate", func() { s.cloud.replicated[r.name] = true })
}

func (s replicate) Undo(ctx context.Context, r *bucketRecord) statemachine.Outcome {
	return s.call(ctx, "stop replicating", func() { delete(s.cloud.replicated, r.name) })
}

// reconcile observes, goes back to what is still true, and walks on from there.
func reconcile(ctx context.Context, b bucketSteps, stored *statemachine.State) error {
	r := &bucketRecord{name: "logs", state: *stored}
	if !b.cloud.buckets[r.name] {
		if _, err := bucketPlan.Regress(&r.state, statemachine.Cause{Back: "Delete", Reason: "BucketDeleted", Message: "The bucket was deleted; creating it again."}); err != nil {
			return err
		}
	}
	walk := statemachine.Walk[*bucketRecord]{
		Plan: bucketPlan, Steps: []statemachine.Step[*bucketRecord]{create{b}, replicate{b}}, Key: "generation 1",
		KindOf: func(string) statemachine.Kind { return statemachine.Pending },
		Persist: func(ctx context.Context) error { // the write of the status, an effect as well
			return b.seam(ctx, effects.Effect{Kind: effects.Apply, What: "status"}, func(context.Context) error { *stored = r.state; return nil })
		},
		Clock: clock.RealClock{},
	}
	_, err := walk.Forward(ctx, r, &r.state, "Replicated")
	return err
}

// An operator of two phases, and a test that ends it before and after each of its effects: whichever
// it is, the next reconcile finishes the work.
func Example_crashes() {
	run := func(accident *effectstest.Accident) (did []string, state statemachine.State) {
		b := bucketSteps{cloud: &cloud{map[string]bool{}, map[string]bool{}}}
		b.seam = func(ctx context.Context, e effects.Effect, do func(context.Context) error) error {
			did = append(did, e.What)
			return accident.Perform(e.What, func() error { return do(ctx) })
		}
		for range 3 { // as events would
			err := reconcile(context.Background(), b, &state)
			if accident.Restart(); err != nil && !errors.Is(err, effectstest.ErrAccident) {
				fmt.Println(err)
			}
			state.Attempt = nil // as the time until the next try would
		}
		return did, state
	}
	did, state := run(nil)
	fmt.Println(did[:4], state.Phase)
	for _, accident := range effectstest.Plan(did[:4], effectstest.DiesBefore, effectstest.DiesAfter) {
		_, state := run(accident)
		fmt.Println(accident, accident.Happened(), state.Phase)
	}
	// Output:
	// [status create status replicate] Replicated
	// dies before status, 1 true Replicated
	// dies after status, 1 true Replicated
	// dies before create, 1 true Replicated
	// dies after create, 1 true Replicated
	// dies before status, 2 true Replicated
	// dies after status, 2 true Replicated
	// dies before replicate, 1 true Replicated
	// dies after replicate, 1 true Replicated
}
