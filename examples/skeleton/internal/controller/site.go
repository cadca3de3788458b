package controller

import (
	"context"
	"encoding/json"
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
	state      statemachine.State
}

// read returns the site of a Skeleton; nil if there is none, or it is going.
func read(ctx context.Context, reader client.Reader, key client.ObjectKey) (*site, error) {
	s := &site{object: &v1alpha1.Skeleton{}, deployment: &appsv1.Deployment{}}
	if err := reader.Get(ctx, key, s.object); err != nil || !s.object.DeletionTimestamp.IsZero() {
		return nil, client.IgnoreNotFound(err)
	}
	err := reader.Get(ctx, key, s.deployment)
	if apierrors.IsNotFound(err) {
		s.deployment, err = nil, nil
	}
	status := s.object.Status
	s.state = statemachine.State{Phase: statemachine.Phase(status.Phase), Reason: status.Reason, Message: status.Message}
	if a := status.Attempt; a != nil {
		s.state.Attempt = &statemachine.Attempt{
			Key: a.Key, Phase: statemachine.Phase(a.Phase), Count: a.Count, LastError: a.LastError, NextTime: a.NextTime,
		}
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
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind("Skeleton").
			WithName(s.object.Name).WithUID(s.object.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(s.object.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(
					corev1ac.Container().WithName("skeleton").WithImage(s.object.Spec.Image)))))
	return deployment.WithAnnotations(map[string]string{annotationStatement: apply.Digest(deployment)})
}

// applied reports whether the Deployment is as it is wanted: what this operator owns
// of it is compared, so that what was removed is seen, and what others own is theirs.
func (s *site) applied() bool {
	owned, err := appsv1ac.ExtractDeployment(s.deployment, string(owner))
	return err == nil && apply.Stands(owned, s.wanted())
}

// foreign reports whether there is a Deployment of the name that is somebody else's.
func (s *site) foreign() bool {
	return s.deployment != nil && !metav1.IsControlledBy(s.deployment, s.object)
}

// available reports whether the Deployment's controller has rolled out what is wanted.
func (s *site) available() bool {
	d := s.deployment
	return d != nil && d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas == s.object.Spec.Replicas && d.Status.AvailableReplicas == s.object.Spec.Replicas &&
		d.Status.Replicas == s.object.Spec.Replicas
}

// stuck is what the Deployment's controller says when it has given up; empty if it has not.
func (s *site) stuck() string {
	for _, c := range s.deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// regress says what no longer holds of the phase that the status has; nil if all does.
func regress(s *site) *statemachine.Cause {
	switch {
	case s.foreign():
		return &statemachine.Cause{Back: drifted, Reason: ReasonNameTaken, Message: "The Deployment does not belong to this Skeleton. Delete it, or rename the Skeleton."}
	case s.deployment == nil:
		return &statemachine.Cause{Back: drifted, Reason: ReasonDeploymentGone, Message: "The Deployment is missing; recreating."}
	case !s.applied():
		return &statemachine.Cause{Back: drifted, Reason: ReasonDeploymentChanged, Message: "The Deployment was changed; restoring."}
	case !s.available():
		return &statemachine.Cause{Back: unavailable, Reason: ReasonRollingOut, Message: "Not all pods are available."}
	}
	return nil
}

// status is what is to be persisted.
func (s *site) status(now metav1.Time) *v1alpha1.SkeletonStatus {
	status := s.object.Status.DeepCopy()
	status.ObservedGeneration = s.object.Generation
	status.Phase, status.Reason, status.Message = string(s.state.Phase), s.state.Reason, s.state.Message
	status.Attempt, status.Replicas = nil, 0
	if a := s.state.Attempt; a != nil {
		status.Attempt = &v1alpha1.Attempt{Key: a.Key, Phase: string(a.Phase), Count: a.Count, LastError: a.LastError, NextTime: a.NextTime}
	}
	if s.deployment != nil && !s.foreign() {
		status.Replicas = s.deployment.Status.AvailableReplicas
	}
	conditions := Plan.Conditions(s.state, kindOf, held,
		statemachine.Held{Reason: "Progressing", Message: "This is the next phase."},
		statemachine.Held{Reason: "Waiting", Message: "An earlier phase does not hold yet."})
	ready := conditions[len(conditions)-1]
	for _, c := range conditions { // the first that does not hold says why
		if c.Status != metav1.ConditionTrue {
			ready = c
			break
		}
	}
	ready.Type = "Ready"
	statemachine.SetConditions(&status.Conditions, s.object.Generation, now, append(conditions, ready)...)
	return status
}

// configuration turns an API value into its apply configuration, which has the same
// JSON: fields that the value omits are not stated, hence not owned.
func configuration[T any](value any) (*T, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	ac := new(T)
	return ac, json.Unmarshal(data, ac)
}
