//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Somebody who may write pods, exporters and EndpointSlices, and not attach, has the operator
// execute nothing in a pod with power over its node.
func TestAttacksOfUser(t *testing.T) {
	namespace, applications, feature := running(t, "attacks", 1, 1, "manifests/attacks/powerful.yaml")
	t.Parallel()
	const user, requester = "mallory", "alice"
	testenv.Test(t, feature.
		WithSetup("a user who may not attach", funcs.Apply(namespace, rules, "manifests/attacks/rights.yaml")).
		WithSetup("a user who may attach", funcs.Apply(namespace, "manifests/authority/attach.yaml")).
		Assess("a pattern that takes much memory is refused", funcs.RefusedByUser(user, namespace, "manifests/attacks/pattern.yaml", "more than 99 times")).
		Assess("forged annotations are removed", funcs.All(
			funcs.ForgeAnnotations(user, namespace),
			funcs.Annotations(namespace, nil))).
		Assess("an exporter of the user is refused", funcs.RefusedByUser(user, namespace, exporter, "may neither create pods/exec nor attach")).
		Assess("the pod is not attached to for who may", funcs.All(
			funcs.ApplyByUser(requester, namespace, exporter),
			funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonPodProtected))).
		Assess("neither a forged EndpointSlice nor a deleted record change that", funcs.All(
			funcs.ForgeSlice(user, namespace, funcs.Exporter),
			funcs.RecordsRebuilt(namespace),
			funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonPodProtected))).
		Assess("nothing was executed", funcs.NoExec(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}

// A process of the JVM's user cannot kill a helper that acts as this user.
func TestHelperKilled(t *testing.T) {
	namespace, applications, feature := running(t, "helper-killed", 1, 1, "manifests/attacks/kills.yaml")
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the process has seen helpers", funcs.Exec(namespace, "app=dummyapp", "test", "-s", "/dev/shm/seen")).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
