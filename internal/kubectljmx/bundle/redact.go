package bundle

import (
	"cmp"
	"maps"
	"regexp"
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

// redactExporter removes the output of applications, too.
func redactExporter(e *v1alpha1.PrometheusJmxExporter) {
	redact(e)
	for i := range e.Status.ProblemPods {
		e.Status.ProblemPods[i].Log, e.Status.ProblemPods[i].PreviousLog = "", ""
	}
}

// users wrote exporters; their names are also in Events and logs.
type users map[string]bool

func (u users) requester(object metav1.Object) {
	if name := object.GetAnnotations()[v1alpha1.AnnotationRequester]; name != "" {
		u[name] = true
	}
}

func (u users) redact(b *Bundle) {
	if len(u) == 0 {
		return
	}
	var patterns []string
	// The longest first, because a name may be part of another.
	for _, name := range slices.SortedFunc(maps.Keys(u), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		patterns = append(patterns, whole(name))
	}
	b.replace(strings.Join(patterns, "|"), func(s string) string {
		if u[s] {
			return redacted
		}
		return s
	})
}

// whole returns a pattern of a name that is not part of a word.
func whole(name string) string {
	pattern := regexp.QuoteMeta(name)
	if inWord.MatchString(name[:1]) {
		pattern = `\b` + pattern
	}
	if inWord.MatchString(name[len(name)-1:]) {
		pattern += `\b`
	}
	return pattern
}

// inWord matches what \b takes for a part of a word.
var inWord = regexp.MustCompile(`\w`)

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
