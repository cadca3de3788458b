package controller

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

type child = operator.Child[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]

// A site is what was read for one PulsarConsumer.
type site struct {
	object *v1.PulsarConsumer
	// deployment is <name>-deployment.
	deployment *child
	// pods are those of the deployment, if it is the object's.
	pods []corev1.Pod
}

// lost says what no longer holds of the phase that the status has; nil if all does.
func (s *site) lost() *statemachine.Cause {
	return statemachine.Lost(
		statemachine.Check{Back: drifted, Lost: s.deployment.Drift},
		statemachine.Check{Back: outdated, Lost: s.notRolledOut},
		statemachine.Check{Back: unsubscribed, Lost: s.notConsuming})
}

// notRolledOut is why not all pods are of the current Deployment; nil if they are.
func (s *site) notRolledOut() *statemachine.Outcome {
	replicas, status := *s.object.Spec.Replicas, s.deployment.Object.Status
	if s.deployment.Exists() && status.ObservedGeneration >= s.deployment.Object.Generation && status.UpdatedReplicas == replicas && status.Replicas == replicas {
		return nil
	}
	return s.trouble(ReasonRollingOut, "The Deployment is replacing pods.")
}

// notConsuming is why fewer pods are subscribed than are wanted; nil if none is missing.
func (s *site) notConsuming() *statemachine.Outcome {
	replicas := *s.object.Spec.Replicas
	if s.notRolledOut() == nil && len(subscribed(s.pods)) == int(replicas) {
		return nil
	}
	return s.trouble(ReasonSubscribing, fmt.Sprintf("Not all %d pods are subscribed.", replicas))
}

// trouble is that of the first pod by name that has one, or the given one.
func (s *site) trouble(reason, message string) *statemachine.Outcome {
	pods := slices.SortedFunc(slices.Values(s.pods), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		if reason, message := troubleOf(&pods[i]); reason != "" && pods[i].DeletionTimestamp.IsZero() {
			return vocabulary.Outcome(reason, message, nil)
		}
	}
	return vocabulary.Outcome(reason, message, nil)
}

// observed puts what was read into the status.
func (s *site) observed() {
	status, pods := &s.object.Status, subscribed(s.pods)
	status.Replicas, status.Selector = int32(len(pods)), labelsOf(s.object.Name).String()
	status.Server, status.Topic, status.Subscription = valuesOf(pods, envServer), valuesOf(pods, envTopic), valuesOf(pods, envSubscription)
}
