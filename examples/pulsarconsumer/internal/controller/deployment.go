package controller

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "banzaicloud.com/jmx-exporter-operator/examples/pulsarconsumer/api/v1"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

// deployments is how the Deployment of a PulsarConsumer is applied.
var deployments = operator.Children[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
	Kind: "Deployment", OwnerKind: v1.GroupVersion.WithKind("PulsarConsumer"),
	FieldOwner: owner, Annotation: v1.GroupVersion.Group + "/statement", Extract: appsv1ac.ExtractDeployment,
}

// deploymentOf is the name of the Deployment of a PulsarConsumer.
func deploymentOf(name string) string { return name + "-deployment" }

// labelsOf are those of its pods. A Deployment's selector cannot be changed, so nothing
// that a person may change goes into it, such as the labels of the PulsarConsumer.
func labelsOf(name string) labels.Set {
	return labels.Set{"app.kubernetes.io/name": "pulsarconsumer", "app.kubernetes.io/instance": name}
}

// containerName is that of the application.
const containerName = "pulsarconsumer"

// The environment of the application.
const (
	envServer       = "PULSAR_SERVER"
	envTopic        = "PULSAR_TOPIC"
	envSubscription = "PULSAR_SUBSCRIPTION_NAME"
)

// wanted is what this operator states of the Deployment. The image is that of the
// application where the PulsarConsumer names none.
func wanted(c *v1.PulsarConsumer, image string) *appsv1ac.DeploymentApplyConfiguration {
	spec, selector := c.Spec, labelsOf(c.Name)
	env := func(name, value string) *corev1ac.EnvVarApplyConfiguration {
		return corev1ac.EnvVar().WithName(name).WithValue(value)
	}
	return appsv1ac.Deployment(deploymentOf(c.Name), c.Namespace).
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
						WithImage(cmp.Or(spec.Image, image)).
						WithEnv(env(envServer, spec.ServerAddress), env(envTopic, spec.Topic), env(envSubscription, spec.SubscriptionName)).
						WithPorts(corev1ac.ContainerPort().WithName("health").WithContainerPort(8080).WithProtocol(corev1.ProtocolTCP)).
						WithReadinessProbe(corev1ac.Probe().WithPeriodSeconds(5).
							WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/ready").WithPort(intstr.FromString("health")))).
						WithSecurityContext(corev1ac.SecurityContext().
							WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
							WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))))))
}
