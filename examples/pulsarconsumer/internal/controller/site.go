package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// A site is what was read for one PulsarConsumer.
type site struct {
	object *v1.PulsarConsumer
	// image is that of the application where the object names none.
	image string
	// deployment is <name>-deployment; nil if there is none.
	deployment *appsv1.Deployment
	// pods are those of the deployment, if it is the object's.
	pods  []corev1.Pod
	state statemachine.State
}

// deploymentOf is the name of the Deployment of a PulsarConsumer.
func deploymentOf(name string) string { return name + "-deployment" }

// labelsOf are those of its pods. A Deployment's selector cannot be changed, so nothing
// that a person may change goes into it, such as the labels of the PulsarConsumer.
func labelsOf(name string) labels.Set {
	return labels.Set{"app.kubernetes.io/name": "pulsarconsumer", "app.kubernetes.io/instance": name}
}

// read returns the site of a PulsarConsumer; nil if there is none, or it is going.
func read(ctx context.Context, reader client.Reader, key client.ObjectKey, image string) (*site, error) {
	s := &site{object: &v1.PulsarConsumer{}, image: image, deployment: &appsv1.Deployment{}}
	if err := reader.Get(ctx, key, s.object); err != nil || !s.object.DeletionTimestamp.IsZero() {
		return nil, client.IgnoreNotFound(err)
	}
	err := reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: deploymentOf(key.Name)}, s.deployment)
	if apierrors.IsNotFound(err) {
		s.deployment, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.deployment != nil && !s.foreign() {
		if s.pods, err = podsOf(ctx, reader, key, s.deployment); err != nil {
			return nil, err
		}
	}
	status := s.object.Status
	s.state = statemachine.State{Phase: statemachine.Phase(status.Phase), Reason: status.Reason, Message: status.Message}
	if a := status.Attempt; a != nil {
		s.state.Attempt = &statemachine.Attempt{
			Key: a.Key, Phase: statemachine.Phase(a.Phase), Count: a.Count, LastError: a.LastError, NextTime: a.NextTime,
		}
	}
	return s, nil
}

// key names what an attempt depends on.
func (s *site) key() string {
	if s.deployment == nil {
		return fmt.Sprintf("generation %d", s.object.Generation)
	}
	return fmt.Sprintf("generation %d, deployment %s", s.object.Generation, s.deployment.UID)
}

// annotationStatement has the digest of what this operator stated.
const annotationStatement = "pulsar.pulsarconsumer.krvarma.com/statement"

// wanted is what this operator states of the Deployment.
func (s *site) wanted() *appsv1ac.DeploymentApplyConfiguration {
	spec, selector := s.object.Spec, labelsOf(s.object.Name)
	env := func(name, value string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValue(value)
	}
	deployment := appsv1ac.Deployment(deploymentOf(s.object.Name), s.object.Namespace).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(v1.GroupVersion.String()).WithKind("PulsarConsumer").
			WithName(s.object.Name).WithUID(s.object.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(*spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(selector).
				WithSpec(corev1ac.PodSpec().
					WithAutomountServiceAccountToken(false).
					WithSecurityContext(corev1ac.PodSecurityContext().
						WithRunAsNonRoot(true).WithRunAsUser(65532).
						WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
					WithContainers(corev1ac.Container().
						WithName(containerName).
						WithImage(cmp.Or(spec.Image, s.image)).
						WithEnv(env(envServer, spec.ServerAddress), env(envTopic, spec.Topic), env(envSubscription, spec.SubscriptionName)).
						WithPorts(corev1ac.ContainerPort().WithName("health").WithContainerPort(8080).WithProtocol(corev1.ProtocolTCP)).
						WithReadinessProbe(corev1ac.Probe().WithPeriodSeconds(5).
							WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/ready").WithPort(intstr.FromString("health")))).
						WithSecurityContext(corev1ac.SecurityContext().
							WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
							WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))))))
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

// updated reports whether all pods are of the current Deployment.
func (s *site) updated() bool {
	d, replicas := s.deployment, *s.object.Spec.Replicas
	return d != nil && d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas == replicas && d.Status.Replicas == replicas
}

// consuming reports whether as many pods are subscribed as are wanted.
func (s *site) consuming() bool {
	return s.updated() && len(subscribed(s.pods)) == int(*s.object.Spec.Replicas)
}

// trouble is that of the first pod by name that has one.
func (s *site) trouble() (reason, message string) {
	pods := slices.SortedFunc(slices.Values(s.pods), func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pods {
		if reason, message := troubleOf(&pods[i]); reason != "" && pods[i].DeletionTimestamp.IsZero() {
			return reason, message
		}
	}
	return "", ""
}

// regress says what no longer holds of the phase that the status has; nil if all does.
func regress(s *site) *statemachine.Cause {
	switch {
	case s.foreign():
		return &statemachine.Cause{Back: drifted, Reason: ReasonNameTaken, Message: fmt.Sprintf("The Deployment %s does not belong to this PulsarConsumer. Delete it, or rename the PulsarConsumer.", s.deployment.Name)}
	case s.deployment == nil:
		return &statemachine.Cause{Back: drifted, Reason: ReasonDeploymentGone, Message: fmt.Sprintf("The Deployment %s is missing; recreating.", deploymentOf(s.object.Name))}
	case !s.applied():
		return &statemachine.Cause{Back: drifted, Reason: ReasonDeploymentChanged, Message: fmt.Sprintf("The Deployment %s was changed; restoring.", s.deployment.Name)}
	case !s.updated():
		return &statemachine.Cause{Back: outdated, Reason: ReasonRollingOut, Message: "The Deployment is replacing pods."}
	case !s.consuming():
		return &statemachine.Cause{Back: unsubscribed, Reason: ReasonSubscribing, Message: fmt.Sprintf("Not all %d pods are subscribed.", *s.object.Spec.Replicas)}
	}
	return nil
}

// status is what is to be persisted.
func (s *site) status(now metav1.Time) *v1.PulsarConsumerStatus {
	status := s.object.Status.DeepCopy()
	status.ObservedGeneration = s.object.Generation
	status.Phase, status.Reason, status.Message = string(s.state.Phase), s.state.Reason, s.state.Message
	status.Attempt = nil
	if a := s.state.Attempt; a != nil {
		status.Attempt = &v1.Attempt{Key: a.Key, Phase: string(a.Phase), Count: a.Count, LastError: a.LastError, NextTime: a.NextTime}
	}
	pods := subscribed(s.pods)
	status.Replicas, status.Selector = int32(len(pods)), labelsOf(s.object.Name).String()
	status.Server, status.Topic, status.Subscription = valuesOf(pods, envServer), valuesOf(pods, envTopic), valuesOf(pods, envSubscription)
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
