//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Somebody takes our annotation away each time. It is put back a few times, and
// then there is peace, and a person is told.
func TestAnnotationFight(t *testing.T) {
	t.Parallel()
	namespace, applications, feature := running("fight", 1, 1, java17)
	fight := funcs.FightIn(namespace)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		WithSetup("somebody takes prometheus.io/scrape away, again and again", fight.Begin("gitops")).
		Assess("AnnotationContested is told", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseAnnotated, v1alpha1.ReasonAnnotationContested,
			"audit log", "EndpointSlices")).
		Assess("it was put back five times, and then no more", fight.Over(5)).
		Assess("there is peace: looked at anew, the pod stays as it is", fight.Peace(funcs.Exporter)).
		Assess("the endpoint stands", funcs.All(
			funcs.Published(namespace, funcs.Exporter, 1, port),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.LoadedOnce(namespace))).
		Assess("the application is as before", applications.Untouched()).
		Feature())
}

// Somebody changes the value of our annotation: it is theirs then.
func TestAnnotationTakenOver(t *testing.T) {
	t.Parallel()
	namespace, applications, feature := running("taken-over", 1, 1, java17)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("a person stops the scrape", funcs.PatchPods(namespace, "kubectl-annotate", `{"metadata":{"annotations":{"prometheus.io/scrape":"false"}}}`)).
		Assess("AnnotationConflict names the tool", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseAnnotated, v1alpha1.ReasonAnnotationConflict,
			`"kubectl-annotate"`, "prometheus.io/scrape")).
		Assess("theirs stands, ours are withdrawn", funcs.Annotations(namespace, map[string]string{"prometheus.io/scrape": "false"})).
		Assess("the endpoint stands", funcs.All(
			funcs.Published(namespace, funcs.Exporter, 1, port),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("they take theirs away, and the pod is Annotated", funcs.All(
			funcs.PatchPods(namespace, "kubectl-annotate", `{"metadata":{"annotations":{"prometheus.io/scrape":null}}}`),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.LoadedOnce(namespace))).
		Assess("the application is as before", applications.Untouched()).
		Feature())
}
