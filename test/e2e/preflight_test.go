//go:build e2e

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// A preflight reports which pods can be attached to, and leaves all of them
// unchanged; mode Attach continues from its inspection.
func TestPreflight(t *testing.T) {
	const preflight = "example-preflight"
	namespace, applications, feature := running(t, "preflight", 5, 4, java17, java25, "manifests/preflight/apps.yaml")
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("the exporter is in mode Preflight", funcs.Apply(namespace, rules, samples+"prometheusjmxexporter-preflight.yaml")).
		Assess("every pod is inspected", funcs.ExporterCondition(namespace, preflight,
			v1alpha1.ConditionPreflightComplete, metav1.ConditionTrue, v1alpha1.ReasonPodsInspected, "2/5")).
		Assess("the reasons are counted", funcs.PreflightFound(namespace, preflight, v1alpha1.Preflight{
			Attachable: "2/5", LoadWarnings: 1, UpgradeWarnings: 2, CoveredAtNextStart: 1,
			Reasons: []v1alpha1.PreflightReason{
				{Reason: v1alpha1.ReasonAttachDisabled, Count: 1}, {Reason: v1alpha1.ReasonNoJavaProcess, Count: 1}, {Reason: v1alpha1.ReasonNoShell, Count: 1},
			},
			Transports: []v1alpha1.TransportCount{
				{Transport: v1alpha1.TransportEphemeralContainer, Count: 1}, {Transport: v1alpha1.TransportExec, Count: 2},
			},
		})).
		Assess("kubectl get shows the result", funcs.Column(namespace, preflight, "Attachable", "2/5")).
		Assess("nothing remains in the containers", funcs.NothingInstalled(namespace)).
		Assess("nothing is loaded", funcs.NothingLoaded(namespace)).
		Assess("no ephemeral container is added", funcs.Doors(namespace, 0, false)).
		Assess("no annotation is written", funcs.Annotations(namespace, nil)).
		Assess("the applications are unchanged", applications.Untouched()).
		Assess("attachable pods are Annotated in mode Attach", funcs.All(
			funcs.Patch(namespace, preflight, `{"spec":{"mode":"Attach"}}`),
			funcs.OnlyAnnotated(namespace, port, "java=17", "java=25", "kind=distroless"),
			funcs.ExporterCondition(namespace, preflight, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonPodsRefused, v1alpha1.ReasonAttachDisabled))).
		Assess("the applications are unchanged except for the warning lines", applications.UntouchedButWarned("dummyapp:25")).
		Feature())
}
