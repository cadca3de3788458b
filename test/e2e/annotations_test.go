//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// No scrape is redirected: the operator adds no annotation beside a foreign one, and
// publishes the endpoint nevertheless.
func TestForeignAnnotationInTemplate(t *testing.T) {
	namespace, applications, feature := running(t, "foreign-template", 1, 1, "manifests/foreign-annotations/app.yaml")
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("AnnotationConflict names the Deployment", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseAnnotated, v1alpha1.ReasonAnnotationConflict,
			"the pod template of Deployment dummyapp", "prometheus.io/scrape", "prometheus.io/port")).
		Assess("foreign annotations are unchanged, the operator's are absent", funcs.ScrapeAnnotations(namespace, map[string]string{
			"prometheus.io/scrape": "true", "prometheus.io/port": "8080",
		})).
		Assess("the endpoint is in the EndpointSlice", funcs.All(
			funcs.Published(namespace, funcs.Exporter, 1, port),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the pod is Annotated after the fix", funcs.All(
			funcs.Apply(namespace, java17),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Feature())
}

func TestForeignAnnotationAfterwards(t *testing.T) {
	namespace, applications, feature := running(t, "foreign-later", 1, 1, java17)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the port annotation is changed by another manager", funcs.AnnotatedAs("somebody", namespace, map[string]string{"prometheus.io/port": "1234"})).
		Assess("AnnotationConflict names the manager", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseAnnotated, v1alpha1.ReasonAnnotationConflict,
			`"somebody"`, "prometheus.io/port")).
		Assess("the foreign annotation stays, the operator's are withdrawn", funcs.ScrapeAnnotations(namespace, map[string]string{"prometheus.io/port": "1234"})).
		Assess("the endpoint is published", funcs.Published(namespace, funcs.Exporter, 1, port)).
		Assess("the pod is Annotated after the foreign annotation is removed", funcs.All(
			funcs.AnnotatedAs("somebody", namespace, nil),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
