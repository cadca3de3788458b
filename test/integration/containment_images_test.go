package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// debugs adds an ephemeral container as kubectl debug does.
func (t *target) debugs(as client.Client) error {
	pod := t.pod.DeepCopy()
	get(t.t, pod)
	after := pod.DeepCopy()
	after.Spec.EphemeralContainers = append(after.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debugger", Image: "busybox", ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	}})
	return as.SubResource("ephemeralcontainers").Patch(t.t.Context(), after, client.StrategicMergeFrom(pod),
		&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
}

// The image of an ephemeral container is that of each pod of the operator that runs, or its
// --door-image. Without such a pod, the policy concerns nobody.
func TestContainmentOfImages(t *testing.T) {
	c := contain(t, "default")
	x := newTarget(c)
	tenant := c.tenant()
	adds := func(image string) func() bool {
		a := x.adds("an ephemeral container of the image "+image, func(e *corev1.EphemeralContainer) { e.Image = image })
		return func() bool { return a.try() == nil }
	}
	not := func(admitted func() bool) func() bool { return func() bool { return !admitted() } }
	current, next, mirrored, evil := adds("registry.example/operator:1"), adds("registry.example/operator:2"), adds("mirror.example/door:1"), adds("evil")
	sidecar := adds("proxy.example/sidecar:1")
	eventually(t, evil)
	c.enforce(not(evil))
	if !current() || next() {
		t.Errorf("while one release runs: its image is admitted: %t, want true; another one: %t, want false", current(), next())
	}

	var pods corev1.PodList
	c.list(&pods, client.MatchingLabels{"app.kubernetes.io/name": "jmx-exporter-operator"})
	before := &pods.Items[0]
	after := before.DeepCopy()
	after.ObjectMeta = metav1.ObjectMeta{Namespace: c.namespace, Name: "next", Labels: before.Labels}
	after.Spec.Containers[0].Image = "registry.example/operator:2"
	after.Spec.Containers[0].Args = append(after.Spec.Containers[0].Args, "--door-image=mirror.example/door:1")
	after.Spec.Containers = append(after.Spec.Containers, corev1.Container{Name: "proxy", Image: "proxy.example/sidecar:1"})
	create(t, after)
	if !current() || next() {
		t.Errorf("while the next release does not start: the current image is admitted: %t, want true; the next one: %t, want false", current(), next())
	}
	after.Status.Phase = corev1.PodRunning
	c.updateStatus(after)
	eventually(t, not(current))
	remove(t, before)
	eventually(t, next)
	if current() || evil() || sidecar() || !mirrored() {
		t.Errorf("after the rollout: the earlier image is admitted: %t, want false; a foreign one: %t, want false; a sidecar's: %t, want false; --door-image: %t, want true",
			current(), evil(), sidecar(), mirrored())
	}

	remove(t, after)
	eventually(t, evil)
	if err := x.debugs(tenant); err != nil {
		t.Errorf("without a pod of the operator, a tenant adds an ephemeral container: got %v, want admission", err)
	}
	named := x.adds("an ephemeral container of another name", func(e *corev1.EphemeralContainer) { e.Name = "debugger" })
	if err := named.try(); !deniedByAny(err) {
		t.Errorf("without a pod of the operator, %s: got %v, want a denial by a policy", named.what, err)
	}
}
