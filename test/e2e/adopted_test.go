//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// A stock exporter that already serves is exposed and annotated as it is: nothing is staged
// or loaded, and it keeps serving after the exporter that adopted it is deleted.
func TestAdopted(t *testing.T) {
	namespace, applications, feature := running(t, "adopted", 1, 1, "manifests/adopted/app.yaml")
	t.Parallel()
	const stock = 9404
	testenv.Test(t, feature.
		Assess("the pod is Annotated with the stock exporter's port", funcs.All(
			funcs.Apply(namespace, rules, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, stock))).
		Assess("the stock exporter is adopted, and nothing is staged", funcs.Adopted(namespace)).
		Assess("nothing was loaded", funcs.NothingLoaded(namespace)).
		Assess("its metrics are served", funcs.Serves(namespace, "dummyapp_requests_total", "jmx_exporter_build_info")).
		Assess("no JVM serves the exporter's own port", funcs.Closed(namespace, port)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the exporter is deleted", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.Gone(namespace),
			funcs.Annotations(namespace, nil))).
		Assess("the stock exporter keeps serving", funcs.ServesPods(namespace, "app=dummyapp", stock, "dummyapp_requests_total")).
		Assess("the application is still unchanged", applications.Untouched()).
		Feature())
}
