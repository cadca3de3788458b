//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// A requester who loses the right to attach gets no new pod; existing endpoints keep serving.
func TestRightWithdrawn(t *testing.T) {
	namespace, _, feature := running(t, "right-withdrawn", 1, 1, java17)
	t.Parallel()
	const role, user = "manifests/authority/attach.yaml", "alice"
	testenv.Test(t, feature.
		WithSetup("rules", funcs.Apply(namespace, rules)).
		WithSetup("the requester may attach", funcs.Apply(namespace, role)).
		Assess("the pod of the authorized requester is served", funcs.All(
			funcs.ApplyByUser(user, namespace, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("another pod is refused without the right", funcs.All(
			funcs.Delete(namespace, role),
			funcs.Apply(namespace, java25),
			funcs.NextRefused(namespace, "java=25", v1alpha1.ReasonNotAuthorized))).
		Assess("the first pod is still served", funcs.All(
			funcs.Annotated(namespace, "java=17", v1alpha1.AnnotationScrape, "true"),
			funcs.ServesPods(namespace, "java=17", port, "dummyapp_requests_total"))).
		Feature())
}

// A stolen token of the operator allows nothing but what the operator does.
func TestStolenToken(t *testing.T) {
	namespace, applications, feature := running(t, "stolen-token", 1, 0, idle)
	t.Parallel()
	testenv.Test(t, feature.
		Assess("every other request is denied", funcs.StolenToken(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
