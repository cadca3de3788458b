//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// A Job's pod completes in spite of its ephemeral container. Its application runs for a
// minute: the name of this file has it begin early.
func TestEphemeralContainerInJob(t *testing.T) {
	t.Parallel() // before its application begins
	namespace, _, feature := running(t, "job", 1, 1, "manifests/transport/job.yaml")
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("one ephemeral container is used", funcs.Doors(namespace, 1, true)).
		Assess("no field of another one is free to who has the operator's token", funcs.ContainerPinned(namespace)).
		Assess("the Job completes", funcs.JobComplete(namespace, "dummyapp")).
		Feature())
}
