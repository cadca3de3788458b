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

// Plan leads a Skeleton to pods that run.
var Plan = statemachine.MustPlan("Planned",
	[]statemachine.Stage{{Phase: Deployed, Transition: "Deploy"}, {Phase: RolledOut, Transition: "RollOut"}},
	statemachine.WayBack{Name: drifted, To: "Planned"},
	statemachine.WayBack{Name: unavailable, To: Deployed})

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

// held is what the condition of a phase that holds says.
func held(phase statemachine.Phase) statemachine.Held {
	if phase == Deployed {
		return statemachine.Held{Reason: "DeploymentApplied", Message: "The Deployment is up to date."}
	}
	return statemachine.Held{Reason: "PodsAvailable", Message: "All pods are available."}
}
