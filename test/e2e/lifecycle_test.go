//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The operator dies between any two lines: here by SIGKILL, while agents are
// loaded. No feature runs beside this one.
func TestOperatorKilled(t *testing.T) {
	namespace, applications, feature := running("killed", 10, 10, "manifests/killed/app.yaml")
	testenv.Test(t, feature.
		Assess("the operator is killed while ten pods are on their way", suite.KilledMidway(namespace, 10, rules, exporter)).
		Assess("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 10, port)).
		Assess("each agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the applications are as before", applications.Untouched()).
		Feature())
}

// A container that ends is another one afterwards.
func TestContainerRestarted(t *testing.T) {
	t.Parallel()
	namespace, _, feature := running("restarted", 1, 1, java17)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the JVM ends", funcs.JVMEnds(namespace)).
		Assess("the record is about the new container", funcs.Follows(namespace, 1)).
		Assess("the pod is Annotated again", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the agent was loaded once into the new JVM", funcs.All(
			funcs.LoadedOnce(namespace),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the container was restarted by this test only", funcs.Follows(namespace, 1)).
		Feature())
}

// The older exporter keeps a pod; the younger says whose it is, and takes it on
// when the older goes.
func TestTwoExporters(t *testing.T) {
	t.Parallel()
	namespace, applications, feature := running("two-exporters", 1, 1, java17)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("its pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		WithSetup("time passes", funcs.AnotherSecond(namespace, funcs.Exporter)).
		Assess("a younger one says whose the pod is", funcs.All(
			funcs.Apply(namespace, "manifests/two-exporters/younger.yaml"),
			funcs.ExporterCondition(namespace, "younger", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonPodsRefused,
				v1alpha1.ReasonPodClaimed, funcs.Exporter),
			funcs.ExporterTold(namespace, "younger", corev1.EventTypeWarning, v1alpha1.ReasonPodsRefused))).
		Assess("the older one keeps it", funcs.All(
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.LoadedOnce(namespace))).
		Assess("the older one goes, and the younger takes the pod on", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.AllAnnotated(namespace, "younger", 1, 9401),
			funcs.LoadedOnce(namespace))).
		Assess("the application is as before", applications.Untouched()).
		Feature())
}
