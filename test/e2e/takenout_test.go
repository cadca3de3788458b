//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Deleting the exporter withdraws what it has written, and nothing else.
func TestExporterDeleted(t *testing.T) {
	t.Parallel()
	namespace, applications, feature := running("deleted", 2, 2, "manifests/foreign-annotations/team.yaml", java25)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 2, port)).
		Assess("the exporter is deleted", funcs.Delete(namespace, exporter)).
		Assess("records, Service and EndpointSlices are gone", funcs.Gone(namespace)).
		Assess("our annotations are gone", funcs.Annotations(namespace, nil)).
		Assess("somebody else's stays", funcs.Annotated(namespace, "java=17", "example.com/team", "orders")).
		Assess("an Event tells that the agent stays", funcs.Told(namespace, corev1.EventTypeNormal, "AgentLeft")).
		Assess("the applications are as before, but for the warning", applications.UntouchedButWarned("dummyapp:25")).
		Assess("an exporter takes them on again, without another load", funcs.All(
			funcs.Apply(namespace, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.LoadedOnce(namespace),
			applications.UntouchedButWarned("dummyapp:25"))).
		Feature())
}
