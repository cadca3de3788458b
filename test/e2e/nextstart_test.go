//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The pods of the next start get the option by an admission policy, and are attached to without
// the warning; one whose image sets JDK_JAVA_OPTIONS keeps it. The running pods are unchanged.
func TestNextStart(t *testing.T) {
	namespace, applications, feature := running(t, "next-start", 2, 2, "manifests/next-start/before.yaml")
	t.Parallel()
	const (
		policy  = "../../config/next-start/policy.yaml"
		warning = "WARNING: A Java agent has been loaded dynamically"
		plain   = "next=plain"
		own     = "next=own"
	)
	testenv.Test(t, feature.
		WithSetup("the policy", funcs.Apply(namespace, policy)).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the pods are attached to", funcs.AllAnnotated(namespace, funcs.Exporter, 2, port)).
		WithSetup("Java 25 has warned", applications.UntouchedButWarned("dummyapp:25")).
		Assess("the status names the image without the variable, and skips the other", funcs.All(
			funcs.Patch(namespace, funcs.Exporter, `{"spec":{"atNextStart":"AllowAttach"}}`),
			funcs.NextStart(namespace, funcs.Exporter, "dummyapp:25", v1alpha1.ReasonSetByImage))).
		Assess("the running pods are unchanged", funcs.All(
			funcs.JavaOptions(namespace, plain, "1", ""),
			funcs.JavaOptions(namespace, own, "1", ""),
			applications.UntouchedButWarned("dummyapp:25"))).
		Assess("the next pods run", funcs.All(
			funcs.Apply(namespace, "manifests/next-start/after.yaml"),
			funcs.JavaOptions(namespace, plain, "2", v1alpha1.OptionAllowAttach),
			funcs.JavaOptions(namespace, own, "2", ""),
			funcs.Running(namespace, 2, 2))).
		Assess("they are attached to", funcs.All(
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.LoadedOnce(namespace))).
		Assess("no load has warned", funcs.All(
			funcs.Prints(namespace, plain, warning, 0),
			funcs.Prints(namespace, plain, "NOTE: Picked up JDK_JAVA_OPTIONS: "+v1alpha1.OptionAllowAttach, 1))).
		Assess("the image's options are kept", funcs.Prints(namespace, own, "NOTE: Picked up JDK_JAVA_OPTIONS: -Dapp=own\n", 1)).
		Assess("the status is the same", funcs.NextStart(namespace, funcs.Exporter, "dummyapp:25", v1alpha1.ReasonSetByImage)).
		Assess("no container was restarted", funcs.Restarted(namespace, 0)).
		Feature())
}
