//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Prometheus scrapes endpoints over TLS, with its own certificate and password, and
// misses no scrape when their certificate is rotated. The JVMs are the oldest, and the
// newest release; with FULL=1, Java 17 too.
func TestEndpointSecurity(t *testing.T) {
	files := []string{manifestOf(t, 8), java25}
	if full() {
		files = append(files, java17)
	}
	pods := len(files)
	namespace, applications, feature := running(t, "endpoint-security", pods, pods, files...)
	t.Parallel()
	security := funcs.SecurityIn(namespace)
	testenv.Test(t, feature.
		WithSetup("Secrets", security.Create()).
		WithSetup("the exporter refers to a Secret", funcs.Apply(namespace, rules, "manifests/endpoint-security/exporter.yaml")).
		WithSetup("SecretForbidden says how to grant the right", funcs.ConditionWithReason(namespace, pods,
			v1alpha1.PhaseStaged, v1alpha1.ReasonSecretForbidden, "config/endpoint-security")).
		WithSetup("the operator may get the Secret", suite.MayGetSecrets()).
		Assess("all pods are Annotated with the scheme", funcs.All(
			funcs.AllAnnotated(namespace, funcs.Exporter, pods, port),
			funcs.Scheme(namespace, "https"))).
		Assess("the endpoints refuse clients without a certificate", security.Refuses(port)).
		Assess("Prometheus scrapes each pod", funcs.All(
			funcs.Apply(namespace, "manifests/endpoint-security/prometheus.yaml"),
			funcs.Scraped(namespace, "dummyapp_requests_total", pods))).
		Assess("rotating the certificate costs no scrape", funcs.NeverMissed(namespace, security.Rotate())).
		Assess("without endpointSecurity the endpoints are served over plain HTTP, and scraped", funcs.All(
			funcs.Patch(namespace, funcs.Exporter, `{"spec":{"endpointSecurity":null}}`),
			funcs.Scheme(namespace, ""),
			funcs.AllAnnotated(namespace, funcs.Exporter, pods, port),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.Scraped(namespace, "dummyapp_requests_total", pods))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the applications are unchanged except for the warning of Java 25", applications.UntouchedButWarned("dummyapp:25")).
		Feature())
}
