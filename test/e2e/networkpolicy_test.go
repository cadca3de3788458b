//go:build e2e

package e2e

import (
	"net/http"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// With config/network-policy, as it is built: the operator works, whoever scrapes its
// metrics from a namespace with the label may, and nobody else gets a connection. No
// feature runs beside this one, as all ask the same operator.
func TestNetworkPolicy(t *testing.T) {
	namespace, applications, feature := running("policy", 1, 1, java17)
	scraping := funcs.NamespaceFor("policy-scraping")
	testenv.Test(t, feature.
		WithSetup("a namespace that scrapes", funcs.InNamespace(scraping)).
		WithSetup("by its label", funcs.NamespaceLabeled(scraping, "metrics", "enabled")).
		WithSetup("and a pod in it", funcs.Apply(scraping, java17)).
		WithSetup("that runs", funcs.Running(scraping, 1, 1)).
		Assess("without the policy the operator answers everybody", funcs.All(
			funcs.OperatorAnswers(scraping, http.StatusOK, http.StatusOK),
			funcs.OperatorAnswers(namespace, http.StatusOK, http.StatusOK))).
		Assess("with it who scrapes is answered, nobody else but on the port of probes, and the operator attaches", funcs.All(
			suite.NetworkPoliciesEnforced("test/e2e/manifests/network-policy"), // until this assessment ends
			funcs.OperatorAnswers(scraping, http.StatusOK, http.StatusOK),
			funcs.OperatorAnswers(namespace, 0, http.StatusOK),
			funcs.Apply(namespace, rules, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the application is as before", applications.Untouched()).
		Feature())
}
