//go:build e2e

package e2e

import (
	"net/http"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// With config/network-policy as built, the operator works, clients in namespaces with the
// label may scrape its metrics, and no other client gets a connection. Other features run
// meanwhile: what they ask the operator, they ask through the API server.
func TestNetworkPolicy(t *testing.T) {
	namespace, applications, feature := running(t, "policy", 1, 1, java17)
	t.Parallel()
	scraping := funcs.NamespaceFor("policy-scraping")
	testenv.Test(t, feature.
		WithSetup("a namespace for scrapers exists", funcs.InNamespace(scraping)).
		WithSetup("the namespace has the label of scrapers", funcs.NamespaceLabeled(scraping, "metrics", "enabled")).
		WithSetup("a pod in the namespace exists", funcs.Apply(scraping, idle)).
		WithSetup("the pod is running", funcs.Running(scraping, 1, 0)).
		Assess("the operator answers everybody without the policy", funcs.All(
			funcs.OperatorAnswers(scraping, http.StatusOK, http.StatusOK),
			funcs.OperatorAnswers(namespace, http.StatusOK, http.StatusOK))).
		Assess("only scrapers are answered with the policy, except on the health port, and the operator attaches", funcs.All(
			suite.NetworkPoliciesEnforced("test/e2e/manifests/network-policy"), // until this assessment ends
			funcs.OperatorAnswers(scraping, http.StatusOK, http.StatusOK),
			funcs.OperatorAnswers(namespace, 0, http.StatusOK),
			funcs.Apply(namespace, rules, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
