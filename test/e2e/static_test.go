//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// static returns a feature with a running static pod, and an exporter for it.
func static(name string, change kinds.Change) (namespace string, applications *funcs.Applications, feature *features.FeatureBuilder) {
	namespace = funcs.NamespaceFor(name)
	applications = funcs.ApplicationsIn(namespace)
	return namespace, applications, features.New(name).
		WithSetup("a namespace", funcs.InNamespace(namespace)).
		WithSetup("the static pod is created", funcs.StaticPod(namespace, java17, change.PatchPod)).
		WithSetup("the pod is running", funcs.Running(namespace, 1, 1)).
		WithSetup("the initial state is recorded", applications.Remember()).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter))
}

// A static pod is attached to like any other, and stays attached when the kubelet recreates
// its mirror.
func TestStaticPod(t *testing.T) {
	t.Parallel()
	namespace, _, feature := static("static", kinds.Change{})
	testenv.Test(t, feature.
		Assess("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the metrics are served", funcs.Serves(namespace, "dummyapp_requests_total")).
		Assess("the mirror pod is deleted and recreated", funcs.PodDeleted(namespace)).
		Assess("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the metrics are served", funcs.Serves(namespace, "dummyapp_requests_total")).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("nothing of the operator remains after the exporter is deleted", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.NoRecord(namespace),
			funcs.NothingInstalled(namespace),
			funcs.Annotations(namespace, nil))).
		Feature())
}

// A static pod cannot get an ephemeral container.
func TestStaticPodWithoutShell(t *testing.T) {
	t.Parallel()
	namespace, applications, feature := static("static-distroless", kinds.Change{Container: `image: "dummyapp:17-noshell"`})
	testenv.Test(t, feature.
		Assess("DoorRefused is reported", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonDoorRefused, "static pods do not support ephemeral containers")).
		Assess("nothing is loaded", funcs.NothingLoaded(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
