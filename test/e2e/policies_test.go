//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Without the right to exec, nothing happens in any pod. No other feature runs at the
// same time.
func TestExecForbidden(t *testing.T) {
	namespace, applications, feature := running(t, "exec-forbidden", 1, 1, java17)
	testenv.Test(t, feature.
		WithSetup("the operator has no right on pods/exec", suite.WithoutRight("pods/exec")).
		WithSetup("the change takes effect", funcs.ExecRefused(namespace, "cannot")).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("ExecForbidden is reported", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonExecForbidden, "pods/exec")).
		Assess("nothing is installed", funcs.NothingInstalled(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the pod is Annotated after the right is granted", funcs.All(
			suite.Restored(),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Feature())
}

func TestExecRefused(t *testing.T) {
	namespace, applications, feature := running(t, "exec-refused", 1, 1, java17)
	t.Parallel()
	policy := "manifests/policies/exec.yaml"
	testenv.Test(t, feature.
		WithSetup("a policy", funcs.Apply(namespace, policy)).
		WithSetup("the change takes effect", funcs.ExecRefused(namespace, "you cannot exec into orders")).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("ExecRefused quotes the policy", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonExecRefused,
			"you cannot exec into orders")).
		Assess("nothing is installed", funcs.NothingInstalled(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the pod is Annotated after the policy is removed", funcs.All(
			funcs.Delete(namespace, policy),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Feature())
}

func TestAnnotationRefused(t *testing.T) {
	namespace, applications, feature := running(t, "annotation-refused", 1, 1, java17)
	t.Parallel()
	policy := "manifests/policies/annotations.yaml"
	testenv.Test(t, feature.
		WithSetup("a policy", funcs.Apply(namespace, policy)).
		WithSetup("the change takes effect", funcs.AnnotationRefused(namespace, "pods of orders stay as they are")).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("AnnotationRefused quotes the policy", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseAnnotated, v1alpha1.ReasonAnnotationRefused,
			"pods of orders stay as they are")).
		Assess("the endpoint is published without annotations", funcs.All(
			funcs.Published(namespace, funcs.Exporter, 1, port),
			funcs.Annotations(namespace, nil))).
		Assess("the pod is Annotated after the policy is removed", funcs.All(
			funcs.Delete(namespace, policy),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
