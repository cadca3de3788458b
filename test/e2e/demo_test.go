//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The steps of the demo, with its manifests.
func TestDemo(t *testing.T) {
	namespace, applications, feature := running(t, "demo", 5, 5, demo+"dummyapp.yaml", demo+"distroless.yaml")
	t.Parallel()
	testenv.Test(t, demoPath(namespace, applications, feature, 5).
		Assess("pods are reached by exec, and the pod without a shell through an ephemeral container",
			funcs.ReachedBy(namespace, v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer)).
		Feature())
}

// The demo by exec only: with config/transport-exec no ephemeral container is added, and
// the pod without a shell is refused. No other feature runs at the same time.
func TestDemoByExec(t *testing.T) {
	namespace, applications, feature := running(t, "demo-by-exec", 4, 4, demo+"dummyapp.yaml")
	distroless := funcs.NamespaceFor("demo-by-exec-distroless")
	testenv.Test(t, demoPath(namespace, applications, feature.
		WithSetup("the operator may only exec", suite.DeployedInstead("config/transport-exec")).
		WithSetup("the operator may not add ephemeral containers", funcs.MayPatch("ephemeralcontainers", false)).
		WithSetup("another namespace", funcs.InNamespace(distroless)).
		WithSetup("a pod without a shell exists", funcs.Apply(distroless, demo+"distroless.yaml", rules, exporter)), 4).
		Assess("by exec", funcs.ReachedBy(namespace, v1alpha1.TransportExec)).
		Assess("the pod without a shell is refused with instructions", funcs.ConditionWithReason(distroless, 1,
			v1alpha1.PhaseJavaFound, v1alpha1.ReasonNoShell, "--transport=Exec", "config/default")).
		Assess("a request for an ephemeral container is refused", funcs.All(
			funcs.Patch(distroless, funcs.Exporter, `{"spec":{"transport":"EphemeralContainer"}}`),
			funcs.ConditionWithReason(distroless, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonTransportForbidden, "--transport=Exec"))).
		Feature())
}

// The demo by ephemeral containers only: with config/transport-door nothing is executed in
// the applications' containers. No other feature runs at the same time.
func TestDemoByEphemeralContainers(t *testing.T) {
	namespace, applications, feature := running(t, "demo-by-door", 5, 5, demo+"dummyapp.yaml", demo+"distroless.yaml")
	testenv.Test(t, demoPath(namespace, applications, feature.
		WithSetup("the operator may only use ephemeral containers", suite.DeployedInstead("config/transport-door")).
		WithSetup("the operator may add ephemeral containers", funcs.MayPatch("ephemeralcontainers", true)), 5).
		Assess("pods are reached through ephemeral containers", funcs.ReachedBy(namespace, v1alpha1.TransportEphemeralContainer)).
		Assess("no helper was installed in any container", funcs.NoHelperInside(namespace)).
		Feature())
}

// demoPath adds the steps of the demo for this many pods.
func demoPath(namespace string, applications *funcs.Applications, feature *features.FeatureBuilder, pods int) *features.FeatureBuilder {
	return feature.
		Assess("one manifest makes all pods Annotated", funcs.All(
			funcs.Apply(namespace, rules, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, pods, port))).
		Assess("the applications are unchanged except for the warning of Java 25", applications.UntouchedButWarned("dummyapp:25")).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("their metrics are served", funcs.Serves(namespace, "dummyapp_requests_total", "dummyapp_queue_size", "dummyapp_pool_active", "jvm_memory_used_bytes")).
		Assess("Prometheus scrapes each pod once, by the annotations alone", funcs.All(
			funcs.Apply(namespace, demo+"prometheus.yaml"),
			funcs.Scraped(namespace, "dummyapp_requests_total", pods))).
		Assess("scrapes change nothing in the applications", applications.UntouchedButWarned("dummyapp:25"))
}
