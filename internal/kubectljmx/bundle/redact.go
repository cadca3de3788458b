package bundle

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// redacted stands for what is secret.
const redacted = "REDACTED"

// redact removes from an object what may hold secrets, or says who a person is.
func redact(object metav1.Object) {
	annotations := object.GetAnnotations()
	for _, key := range []string{
		corev1.LastAppliedConfigAnnotation, // has the values of environment variables
		v1alpha1.AnnotationRequester, v1alpha1.AnnotationRequesterGroups,
	} {
		if _, ok := annotations[key]; ok {
			annotations[key] = redacted
		}
	}
	object.SetAnnotations(annotations)
}

// redactPod removes the values of environment variables; their names say what is configured.
func redactPod(template *corev1.PodTemplateSpec) {
	redact(template)
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			for j := range containers[i].Env {
				if containers[i].Env[j].Value != "" {
					containers[i].Env[j].Value = redacted
				}
			}
		}
	}
}
