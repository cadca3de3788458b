//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// Pods without a shell are attached to through an ephemeral container with the rights
// of its target.
func TestEphemeralContainer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, app, exporter string
	}{
		{name: "distroless", app: "manifests/no-shell/app.yaml", exporter: exporter},
		{name: "distroless-root", app: "manifests/transport/root.yaml", exporter: exporter},
		{name: "distroless-read-only", app: "manifests/transport/read-only.yaml", exporter: exporter},
		{name: "distroless-restricted", app: "manifests/transport/restricted.yaml", exporter: exporter},
		{name: "distroless-shared-pids", app: "manifests/transport/shared-pids.yaml", exporter: exporter},
		{name: "with-a-shell-all-the-same", app: java17, exporter: "manifests/transport/always.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			namespace, applications, feature := running(c.name, 1, 1, c.app)
			testenv.Test(t, feature.
				WithSetup("an exporter", funcs.Apply(namespace, rules, c.exporter)).
				Assess("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
				Assess("through one ephemeral container", funcs.Doors(namespace, 1, true)).
				Assess("the metrics are served", funcs.Serves(namespace, "dummyapp_requests_total")).
				Assess("without the exporter, the ephemeral container ends", funcs.All(
					funcs.Delete(namespace, c.exporter),
					funcs.Doors(namespace, 1, false))).
				Assess("and nothing is left in the container", funcs.NothingInstalled(namespace)).
				Assess("the application is as before", applications.Untouched()).
				Feature())
		})
	}
}

// What refuses an ephemeral container is reported with a typed reason, in the words of
// the policy.
func TestEphemeralContainerRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, exporter, reason string
		files                  []string
		words                  []string
	}{
		{name: "door-refused", files: []string{"manifests/transport/refused.yaml", "manifests/no-shell/app.yaml"}, exporter: exporter, reason: v1alpha1.ReasonDoorRefused, words: []string{"no ephemeral containers in orders"}},
		{name: "no-tmp", files: []string{"manifests/transport/read-only-tmp.yaml"}, exporter: exporter, reason: v1alpha1.ReasonTmpNotWritable, words: []string{"/tmp", "emptyDir"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			namespace, applications, feature := running(c.name, 1, 1, c.files...)
			testenv.Test(t, feature.
				WithSetup("an exporter", funcs.Apply(namespace, rules, c.exporter)).
				Assess(c.reason+" is reported", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, c.reason, c.words...)).
				Assess("nothing is loaded", funcs.NothingLoaded(namespace)).
				Assess("the application is as before", applications.Untouched()).
				Feature())
		})
	}
}

// A Job's pod completes although an ephemeral container is in it.
func TestEphemeralContainerInJob(t *testing.T) {
	t.Parallel()
	namespace, _, feature := running("job", 1, 1, "manifests/transport/job.yaml")
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("through one ephemeral container", funcs.Doors(namespace, 1, true)).
		Assess("the Job completes", funcs.JobComplete(namespace, "dummyapp")).
		Feature())
}
