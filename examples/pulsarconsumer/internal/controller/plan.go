package controller

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The phases after Planned, in their order.
const (
	Deployed  statemachine.Phase = "Deployed"
	RolledOut statemachine.Phase = "RolledOut"
	Consuming statemachine.Phase = "Consuming"
)

// The ways back.
const (
	drifted      = "Drift"
	outdated     = "Outdate"
	unsubscribed = "Unsubscribe"
)

// Plan leads a PulsarConsumer to pods that consume.
var Plan = statemachine.MustPlan("Planned",
	[]statemachine.Stage{
		{Phase: Deployed, Transition: "Deploy"},
		{Phase: RolledOut, Transition: "RollOut"},
		{Phase: Consuming, Transition: "Consume"},
	},
	statemachine.WayBack{Name: drifted, To: "Planned"},
	statemachine.WayBack{Name: outdated, To: Deployed},
	statemachine.WayBack{Name: unsubscribed, To: RolledOut})

// The reasons why a phase does not hold. What keeps a pod from starting has the kubelet's
// or the scheduler's reason, such as ImagePullBackOff or Unschedulable.
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
	// ReasonRollingOut: the Deployment's controller replaces pods.
	ReasonRollingOut = "RollingOut"
	// ReasonSubscribing: pods start, or subscribe.
	ReasonSubscribing = "Subscribing"
	// ReasonBrokerUnreachable: the application cannot reach the broker.
	ReasonBrokerUnreachable = "BrokerUnreachable"
	// ReasonTopicNotFound: the broker does not have the topic, and makes none.
	ReasonTopicNotFound = "TopicNotFound"
	// ReasonSubscribeFailed: the broker refuses the subscription.
	ReasonSubscribeFailed = "SubscribeFailed"
)

// ofApplication are the reasons that the application writes into its termination
// message, before a colon.
var ofApplication = []string{ReasonBrokerUnreachable, ReasonTopicNotFound, ReasonSubscribeFailed}

// kindOf says what ends each reason. Pods announce themselves, whatever keeps them from
// consuming.
func kindOf(reason string) statemachine.Kind {
	switch reason {
	case ReasonNameTaken:
		return statemachine.Refused
	case ReasonDeploymentRefused:
		return statemachine.Broken
	case ReasonAPIError, ReasonDeploymentGone, ReasonDeploymentChanged:
		return statemachine.Failed
	case ReasonRollingOut, ReasonSubscribing:
		return statemachine.Awaiting
	default:
		return statemachine.Broken
	}
}

// held is what the condition of a phase that holds says.
func held(phase statemachine.Phase) statemachine.Held {
	return map[statemachine.Phase]statemachine.Held{
		Deployed:  {Reason: "DeploymentApplied", Message: "The Deployment is up to date."},
		RolledOut: {Reason: "PodsUpdated", Message: "All pods belong to the current Deployment revision."},
		Consuming: {Reason: "PodsSubscribed", Message: "All pods are subscribed."},
	}[phase]
}

func isOfApplication(reason string) bool { return slices.Contains(ofApplication, reason) }
