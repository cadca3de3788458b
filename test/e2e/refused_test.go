//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// A container that does not run Java yet is left unchanged, and inspected again.
func TestNoJava(t *testing.T) {
	namespace, applications, feature := running(t, "no-java", 1, 0, idle)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("NoJavaProcess is reported", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonNoJavaProcess)).
		Assess("nothing is installed", funcs.NothingInstalled(namespace)).
		Assess("the container is unchanged", applications.Untouched()).
		Assess("Java starts", funcs.All(
			funcs.Exec(namespace, "app=dummyapp", "touch", "/tmp/start"),
			funcs.Running(namespace, 1, 1),
			applications.Remember())).
		Assess("its pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}

// A pod that is deleted during an attach takes its JmxAttachment with it and delays no other pod.
func TestPodGone(t *testing.T) {
	namespace, _, feature := running(t, "pod-gone", 3, 3, java17x3)
	t.Parallel()
	waiting := func() features.Func {
		return funcs.ConditionWithReason(namespace, 3, v1alpha1.PhaseStaged, v1alpha1.ReasonConfigMapMissing, "prometheus-jmx-exporter-config")
	}
	testenv.Test(t, feature.
		WithSetup("the exporter has no ConfigMap", funcs.Apply(namespace, exporter)).
		Assess("the pods wait", waiting()).
		Assess("one pod is deleted together with its record", funcs.PodDeleted(namespace)).
		Assess("a replacement runs", funcs.All(funcs.Running(namespace, 3, 3), waiting())).
		Assess("one pod is deleted while agents are loaded", funcs.All(
			funcs.Apply(namespace, rules),
			funcs.PodDeleted(namespace))).
		Assess("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 3, port)).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Feature())
}
