package controller

import (
	"cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The phases after Planned in their order, and the ways back.
const (
	Deployed  statemachine.Phase = "Deployed"
	RolledOut statemachine.Phase = "RolledOut"

	drifted     = "Drift"
	unavailable = "LosePods"
)

// The reasons why RolledOut does not hold; those of Deployed are of operator.Child.
const (
	// ReasonRollingOut: the Deployment's controller starts pods.
	ReasonRollingOut = "RollingOut"
	// ReasonRolloutStuck: the Deployment's controller has given up.
	ReasonRolloutStuck = "RolloutStuck"
)

// vocabulary has the plan, which leads a Skeleton to pods that run, and what it says.
var vocabulary = statemachine.Vocabulary{
	Plan: statemachine.MustPlan("Planned",
		[]statemachine.Stage{{Phase: Deployed, Transition: "Deploy"}, {Phase: RolledOut, Transition: "RollOut"}},
		statemachine.WayBack{Name: drifted, To: "Planned"},
		statemachine.WayBack{Name: unavailable, To: Deployed}),
	KindOf: kindOf,
	Held: map[statemachine.Phase]statemachine.Held{
		Deployed:  {Reason: "DeploymentApplied", Message: "The Deployment is up to date."},
		RolledOut: {Reason: "PodsAvailable", Message: "All pods are available."},
	},
}

// kindOf says what ends each reason.
func kindOf(reason string) statemachine.Kind {
	switch reason {
	case ReasonRolloutStuck:
		return statemachine.Broken
	case ReasonRollingOut:
		return statemachine.Awaiting
	}
	return cmp.Or(deployments.KindOf(reason), statemachine.Pending)
}
