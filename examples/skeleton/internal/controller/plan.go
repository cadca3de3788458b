package controller

import "banzaicloud.com/jmx-exporter-operator/pkg/statemachine"

// The phases after Planned, in their order.
const (
	Deployed  statemachine.Phase = "Deployed"
	RolledOut statemachine.Phase = "RolledOut"
)

// The ways back.
const (
	drifted     = "Drift"
	unavailable = "LosePods"
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

// The reasons why a phase does not hold.
const (
	// ReasonNameTaken: a Deployment of the name belongs to somebody else.
	ReasonNameTaken = "NameTaken"
	// ReasonDeploymentRefused: the API server refuses the Deployment.
	ReasonDeploymentRefused = "DeploymentRefused"
	// ReasonAPIError: the API server failed.
	ReasonAPIError = "APIError"
	// ReasonDeploymentGone: the Deployment was deleted.
	ReasonDeploymentGone = "DeploymentGone"
	// ReasonDeploymentChanged: what this operator owns of the Deployment was changed.
	ReasonDeploymentChanged = "DeploymentChanged"
	// ReasonRollingOut: the Deployment's controller starts pods.
	ReasonRollingOut = "RollingOut"
	// ReasonRolloutStuck: the Deployment's controller has given up.
	ReasonRolloutStuck = "RolloutStuck"
)

// kindOf says what ends each reason.
func kindOf(reason string) statemachine.Kind {
	switch reason {
	case ReasonNameTaken:
		return statemachine.Refused
	case ReasonRolloutStuck, ReasonDeploymentRefused:
		return statemachine.Broken
	case ReasonRollingOut:
		return statemachine.Awaiting
	case ReasonAPIError:
		return statemachine.Failed
	default:
		return statemachine.Pending
	}
}
