package controller

import (
	"cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The phases after Planned in their order, and the ways back.
const (
	Deployed  statemachine.Phase = "Deployed"
	RolledOut statemachine.Phase = "RolledOut"
	Consuming statemachine.Phase = "Consuming"

	drifted      = "Drift"
	outdated     = "Outdate"
	unsubscribed = "Unsubscribe"
)

// The reasons why RolledOut and Consuming do not hold; those of Deployed are of
// operator.Child. What keeps a pod from starting has the kubelet's or the scheduler's
// reason, such as ImagePullBackOff or Unschedulable.
const (
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

// vocabulary has the plan, which leads a PulsarConsumer to pods that consume, and what it says.
var vocabulary = statemachine.Vocabulary{
	Plan: statemachine.MustPlan("Planned",
		[]statemachine.Stage{
			{Phase: Deployed, Transition: "Deploy"},
			{Phase: RolledOut, Transition: "RollOut"},
			{Phase: Consuming, Transition: "Consume"},
		},
		statemachine.WayBack{Name: drifted, To: "Planned"},
		statemachine.WayBack{Name: outdated, To: Deployed},
		statemachine.WayBack{Name: unsubscribed, To: RolledOut}),
	KindOf: kindOf,
	Held: map[statemachine.Phase]statemachine.Held{
		Deployed:  {Reason: "DeploymentApplied", Message: "The Deployment is up to date."},
		RolledOut: {Reason: "PodsUpdated", Message: "All pods belong to the current Deployment revision."},
		Consuming: {Reason: "PodsSubscribed", Message: "All pods are subscribed."},
	},
}

// kindOf says what ends each reason. Pods announce themselves, whatever keeps them from
// consuming.
func kindOf(reason string) statemachine.Kind {
	switch reason {
	case ReasonRollingOut, ReasonSubscribing:
		return statemachine.Awaiting
	}
	return cmp.Or(deployments.KindOf(reason), statemachine.Broken)
}
