//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// Pods and containers with power over their node are refused, and nothing is executed
// in them.
func TestPodProtected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change kinds.Change
		words  []string
	}{
		{"host-network", kinds.Change{Pod: "hostNetwork: true"}, []string{"hostNetwork", "--allow-host-network"}},
		{"host-pid", kinds.Change{Pod: "hostPID: true"}, []string{"hostPID", "--allow-host-pid"}},
		{"privileged", kinds.Change{Container: "securityContext: {privileged: true}"}, []string{"privileged", "--allow-privileged"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			namespace := funcs.NamespaceFor(c.name)
			applications := funcs.ApplicationsIn(namespace)
			testenv.Test(t, features.New(c.name).
				WithSetup("a namespace", funcs.InNamespace(namespace)).
				WithSetup("an application", funcs.ApplyPatched(namespace, java17, c.change.PatchPod)).
				WithSetup("that runs", funcs.Running(namespace, 1, 1)).
				WithSetup("as it is before", applications.Remember()).
				WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
				Assess("PodProtected is reported", funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonPodProtected, c.words...)).
				Assess("nothing is installed", funcs.NothingInstalled(namespace)).
				Assess("no ephemeral container is added", funcs.Doors(namespace, 0, false)).
				Assess("no annotation is written", funcs.Annotations(namespace, nil)).
				Assess("the application is as before", applications.Untouched()).
				Feature())
		})
	}
}
