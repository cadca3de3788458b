package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// A site is what was read for one Skeleton.
type site struct {
	object     *v1alpha1.Skeleton
	deployment *operator.Child[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]
}

// deploy is the step to Deployed. The owner reference has the Deployment collected.
type deploy struct {
	statemachine.NoUndo[*site]
	apply *apply.Client
}

func (deploy) Phase() statemachine.Phase { return Deployed }

// Ensure implements statemachine.Step.
func (d deploy) Ensure(ctx context.Context, s *site) statemachine.Outcome {
	return s.deployment.Ensure(ctx, d.apply)
}

// notRolledOut is why the Deployment's controller has not brought RolledOut about; nil if it has.
func (s *site) notRolledOut() *statemachine.Outcome {
	replicas, status := s.object.Spec.Replicas, s.deployment.Object.Status
	if s.deployment.Exists() && status.ObservedGeneration >= s.deployment.Object.Generation &&
		status.UpdatedReplicas == replicas && status.AvailableReplicas == replicas && status.Replicas == replicas {
		return nil
	}
	for _, c := range status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return vocabulary.Outcome(ReasonRolloutStuck, "The Deployment failed to progress: "+c.Message, nil)
		}
	}
	return vocabulary.Outcome(ReasonRollingOut, "Not all pods are available.", nil)
}

// observed puts what was read into the status.
func (s *site) observed() {
	s.object.Status.Replicas = 0
	if s.deployment.Exists() {
		s.object.Status.Replicas = s.deployment.Object.Status.AvailableReplicas
	}
}
