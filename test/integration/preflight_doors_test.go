package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A preflight adds no ephemeral container to a pod without a shell; mode Attach does at
// once, although nothing else of the pod has changed since it was refused.
func TestPreflightWithoutShell(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: newCluster(t)}
	f.o = f.operate()
	f.pods = []*corev1.Pod{f.run(aPod("app-0").withoutShell())}
	f.configure(rules)
	f.exporter = f.preflight("exporter")
	f.expect("the mode is Preflight", "Discovered NoShell")
	f.expectFound("the mode is Preflight", f.exporter, "0/1, pending 0, NoShell 1 app-0, True PodsInspected")
	s := &story{f.cluster, f.pods[0], f.exporter}
	if get(t, s.pod); len(s.pod.Spec.EphemeralContainers) > 0 {
		t.Errorf("ephemeral containers of %s: got %v, want none", s.pod.Name, s.pod.Spec.EphemeralContainers)
	}

	f.mode(f.exporter, v1alpha1.ModeAttach)
	f.o.settle()
	f.later(5 * time.Second)
	f.o.tire()
	f.expect("the mode is Attach", isAnnotated)
	s.hasOneDoor()
}
