//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The operator's pod satisfies the strictest Pod Security Standard.
func TestOperatorIsRestricted(t *testing.T) {
	testenv.Test(t, features.New("restricted").
		Assess("the operator runs where restricted is enforced", funcs.Restricted()).
		Feature())
}

// config/namespaced needs no rights outside of its namespace, and ignores all other
// namespaces. The operator for all namespaces is scaled down meanwhile; no other feature runs
// at the same time.
func TestNamespaced(t *testing.T) {
	const namespace = "jmx-exporter-e2e-namespaced"
	applications := funcs.ApplicationsIn(namespace)
	elsewhere := funcs.NamespaceFor("elsewhere")
	testenv.Test(t, features.New("namespaced").
		WithSetup("the other operator is scaled down", suite.Scaled(0)).
		WithSetup("the other operator's policies are removed", suite.WithoutContainment()).
		WithSetup("a namespace", funcs.InNamespace(namespace)).
		WithSetup("an operator for one namespace is deployed", suite.Deployed("test/e2e/manifests/namespaced", namespace)).
		WithSetup("an application in its namespace exists", funcs.Apply(namespace, java17)).
		WithSetup("the pod is running", funcs.Running(namespace, 1, 1)).
		WithSetup("the initial state is recorded", applications.Remember()).
		WithSetup("another namespace", funcs.InNamespace(elsewhere)).
		WithSetup("an exporter and an application in another namespace exist", funcs.Apply(elsewhere, rules, exporter, java17)).
		WithSetup("the other pod is running", funcs.Running(elsewhere, 1, 1)).
		Assess("the pod in its namespace is Annotated", funcs.All(
			funcs.Apply(namespace, rules, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the exporter in another namespace is ignored", funcs.Untended(elsewhere, funcs.Exporter)).
		Feature())
}
