package bundle

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

// people are the users who wrote exporters; their names are also in Events and logs.
type people map[string]bool

func (p people) requester(object metav1.Object) {
	if name := object.GetAnnotations()[v1alpha1.AnnotationRequester]; name != "" {
		p[name] = true
	}
}

func (p people) redact(b *Bundle) {
	var pairs []string
	// The longest first, because a name may be part of another.
	for _, name := range slices.SortedFunc(maps.Keys(p), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		pairs = append(pairs, name, redacted)
	}
	b.replace(strings.NewReplacer(pairs...).Replace)
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
