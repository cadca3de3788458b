//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Every JVM of a pod is served on its own port, and a JVM that is no longer selected is
// released; nothing else changes.
func TestSeveralJVMs(t *testing.T) {
	namespace, applications, feature := running(t, "several-jvms", 1, 3, "manifests/processes/app.yaml")
	t.Parallel()
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, goesOn)).
		Assess("all three JVMs are served, the first on the exporter's port", funcs.All(
			jvms.Served(1, 3),
			jvms.On(map[string][]int32{"web": {port}, "worker": {9404, 9405}}))).
		Assess("each JVM serves its own metrics", funcs.All(
			jvms.Answer("web", "dummyapp_requests_total", 0, `dummyapp_requests_total{endpoint="/orders"} 7.0`),
			jvms.Answer("worker", "dummyapp_requests_total", 1, `dummyapp_requests_total{endpoint="/orders"} 7.0`))).
		Assess("the agent was loaded once into each", funcs.LoadedOnce(namespace)).
		Assess("a rule excludes one of the JVMs", funcs.All(
			funcs.Apply(namespace, "manifests/processes/excluded.yaml"),
			suite.Released(jvms, 1, 2),
			jvms.Answer("worker", "dummyapp_requests_total", 1, `dummyapp_requests_total{endpoint="/orders"} 7.0`),
			funcs.LoadedOnce(namespace))).
		Assess("the other container is released", funcs.All(
			funcs.Apply(namespace, "manifests/processes/one-container.yaml"),
			suite.Released(jvms, 1, 1),
			jvms.On(map[string][]int32{"web": {port}}),
			funcs.LoadedOnce(namespace))).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}

// One JVM of a container exits while the container runs: the others' endpoints stay.
func TestOneJVMEnds(t *testing.T) {
	namespace, applications, feature := running(t, "one-jvm-ends", 1, 3, "manifests/processes/app.yaml")
	t.Parallel()
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, goesOn)).
		WithSetup("all three JVMs are served", jvms.Served(1, 3)).
		WithSetup("the applications are unchanged", applications.Untouched()).
		Assess("one JVM exits, and the endpoints of the others stay", jvms.EndBesideOthers("worker", 1)).
		Assess("the other JVMs keep serving", funcs.All(
			jvms.Answer("web", "dummyapp_requests_total", 0, `dummyapp_requests_total{endpoint="/orders"} 7.0`),
			jvms.Answer("worker", "dummyapp_requests_total", 0, `dummyapp_requests_total{endpoint="/orders"} 7.0`))).
		Assess("the agent was loaded once into each", funcs.LoadedOnce(namespace)).
		Assess("no container was restarted", funcs.Restarted(namespace, 0)).
		Feature())
}
