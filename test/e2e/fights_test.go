//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// An annotation that is removed repeatedly is restored a few times; then the operator stops,
// and reports that.
func TestAnnotationFight(t *testing.T) {
	namespace, applications, feature := running(t, "fight", 1, 1, java17)
	t.Parallel()
	fight := funcs.FightIn(namespace)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		WithSetup("prometheus.io/scrape is removed repeatedly", fight.Begin("gitops")).
		Assess("AnnotationContested is reported", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseAnnotated, v1alpha1.ReasonAnnotationContested,
			"audit log", "EndpointSlices")).
		Assess("the annotation is restored five times, then no more", fight.Over(5)).
		Assess("the pod stays unchanged when it is reconciled again", fight.Peace(funcs.Exporter)).
		Assess("the endpoint is published", funcs.All(
			funcs.Published(namespace, funcs.Exporter, 1, port),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.LoadedOnce(namespace))).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}

// An annotation whose value another manager changes belongs to that manager.
func TestAnnotationTakenOver(t *testing.T) {
	namespace, applications, feature := running(t, "taken-over", 1, 1, java17)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the scrape annotation is set to false by a user", funcs.PatchPods(namespace, "kubectl-annotate", `{"metadata":{"annotations":{"prometheus.io/scrape":"false"}}}`)).
		Assess("AnnotationConflict names the tool", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseAnnotated, v1alpha1.ReasonAnnotationConflict,
			`"kubectl-annotate"`, "prometheus.io/scrape")).
		Assess("the foreign annotation stays, the operator's are withdrawn", funcs.ScrapeAnnotations(namespace, map[string]string{"prometheus.io/scrape": "false"})).
		Assess("the endpoint is published", funcs.All(
			funcs.Published(namespace, funcs.Exporter, 1, port),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the pod is Annotated after the foreign annotation is removed", funcs.All(
			funcs.PatchPods(namespace, "kubectl-annotate", `{"metadata":{"annotations":{"prometheus.io/scrape":null}}}`),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.LoadedOnce(namespace))).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
