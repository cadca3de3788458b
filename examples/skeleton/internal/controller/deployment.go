package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/examples/skeleton/api/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

// deployments is how the Deployment of a Skeleton is applied.
var deployments = operator.Children[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
	Kind: "Deployment", OwnerKind: v1alpha1.GroupVersion.WithKind("Skeleton"),
	FieldOwner: owner, Annotation: v1alpha1.GroupVersion.Group + "/statement", Extract: appsv1ac.ExtractDeployment,
}

// wanted is what this operator states of the Deployment. The selector cannot be
// changed later, so nothing that a person chooses goes into it but the name.
func wanted(s *v1alpha1.Skeleton) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app.kubernetes.io/name": "skeleton", "app.kubernetes.io/instance": s.Name}
	return appsv1ac.Deployment(s.Name, s.Namespace).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(s.Spec.Replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(
					corev1ac.Container().WithName("skeleton").WithImage(s.Spec.Image)))))
}
