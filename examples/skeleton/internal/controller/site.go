package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// A site is what was read for one Skeleton.
type site struct {
	object *v1alpha1.Skeleton
	// deployment is that of the Skeleton's name; nil if there is none.
	deployment *appsv1.Deployment
}

func read(ctx context.Context, reader client.Reader, object *v1alpha1.Skeleton) (*site, error) {
	s := &site{object: object, deployment: &appsv1.Deployment{}}
	err := reader.Get(ctx, client.ObjectKeyFromObject(object), s.deployment)
	if apierrors.IsNotFound(err) {
		s.deployment, err = nil, nil
	}
	return s, err
}

// key names what an attempt depends on.
func (s *site) key() string {
	if s.deployment == nil {
		return fmt.Sprintf("generation %d", s.object.Generation)
	}
	return fmt.Sprintf("generation %d, deployment %s", s.object.Generation, s.deployment.UID)
}

// annotationStatement has the digest of what this operator stated.
const annotationStatement = "example.com/statement"

// wanted is what this operator states of the Deployment. The selector cannot be
// changed later, so nothing that a person chooses goes into it but the name.
func (s *site) wanted() *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app.kubernetes.io/name": "skeleton", "app.kubernetes.io/instance": s.object.Name}
	deployment := appsv1ac.Deployment(s.object.Name, s.object.Namespace).
		WithOwnerReferences(apply.ControllerReference(s.object, v1alpha1.GroupVersion.WithKind("Skeleton"))).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(s.object.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(
					corev1ac.Container().WithName("skeleton").WithImage(s.object.Spec.Image)))))
	return deployment.WithAnnotations(map[string]string{annotationStatement: apply.Digest(deployment)})
}

// notDeployed is why Deployed does not hold; nil if it does. What this operator owns of
// the Deployment is compared, so that what was removed is seen, and what others own is theirs.
func (s *site) notDeployed() *statemachine.Outcome {
	if s.deployment == nil {
		return vocabulary.Because(ReasonDeploymentGone, "The Deployment is missing; recreating.", nil)
	}
	if !metav1.IsControlledBy(s.deployment, s.object) {
		return vocabulary.Because(ReasonNameTaken, "The Deployment does not belong to this Skeleton. Delete it, or rename the Skeleton.", nil)
	}
	if owned, err := appsv1ac.ExtractDeployment(s.deployment, string(owner)); err != nil || !apply.Stands(owned, s.wanted()) {
		return vocabulary.Because(ReasonDeploymentChanged, "The Deployment was changed; restoring.", nil)
	}
	return nil
}

// notRolledOut is why RolledOut does not hold; nil if it does.
func (s *site) notRolledOut() *statemachine.Outcome {
	d, replicas := s.deployment, s.object.Spec.Replicas
	if d == nil {
		return vocabulary.Because(ReasonRollingOut, "Not all pods are available.", nil)
	}
	if d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == replicas && d.Status.AvailableReplicas == replicas && d.Status.Replicas == replicas {
		return nil
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return vocabulary.Because(ReasonRolloutStuck, "The Deployment failed to progress: "+c.Message, nil)
		}
	}
	return vocabulary.Because(ReasonRollingOut, "Not all pods are available.", nil)
}

// observed puts what was read into the status.
func (s *site) observed() {
	s.object.Status.Replicas = 0
	if s.deployment != nil && metav1.IsControlledBy(s.deployment, s.object) {
		s.object.Status.Replicas = s.deployment.Status.AvailableReplicas
	}
}
