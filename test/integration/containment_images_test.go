package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
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

// images is what the operator's account may add with a token, by image.
type images struct {
	*target
	as *rest.Config
}

// admitted reports whether an ephemeral container of an image may be added.
func (i images) admitted(image string) bool { return i.adds(image) == nil }

func (i images) adds(image string) error {
	i.t.Helper()
	as, err := newClient(i.as)
	if err != nil {
		i.t.Fatal(err)
	}
	c, x := *i.contained, *i.target
	c.client, x.contained = as, &c
	return x.adds("an ephemeral container", func(e *corev1.EphemeralContainer) { e.Image = image }).try()
}

// another creates a pod of the operator with other images of its containers, in a phase.
func (c *contained) another(name string, phase corev1.PodPhase, labels map[string]string, args []string, containers ...corev1.Container) *corev1.Pod {
	c.t.Helper()
	pod := c.home.DeepCopy()
	pod.ObjectMeta = metav1.ObjectMeta{Namespace: c.namespace, Name: name, Labels: labels}
	pod.Status = corev1.PodStatus{} // Kubernetes 1.30 keeps the class of QoS that is in it
	pod.Spec.Containers = append([]corev1.Container{{Name: "manager", Image: "registry.example/" + name, Args: args}}, containers...)
	create(c.t, pod)
	pod.Status.Phase = phase
	c.updateStatus(pod)
	return pod
}

// The image of an ephemeral container is that of the pod that the request comes from, or
// its --door-image, whatever other pods of the operator there are, and whether they run.
func TestContainmentOfImages(t *testing.T) {
	c := contain(t, "default")
	x := newTarget(c)
	const current, mirror, sidecar, evil = "registry.example/operator:1", "mirror.example/door:1", "proxy.example/sidecar:1", "evil"
	next := c.another("next", corev1.PodRunning, c.home.Labels, []string{"--door-image=" + mirror}, corev1.Container{Name: "proxy", Image: sidecar})
	evicted := c.another("evicted", corev1.PodFailed, c.home.Labels, nil)
	unlabeled := c.another("unlabeled", corev1.PodRunning, nil, nil)
	changed := c.another("changed", corev1.PodRunning, c.home.Labels, nil)
	change(t, changed, func(p *corev1.Pod) { p.Spec.Containers[0].Image = "registry.example/patched" })
	unbound := c.boundTo(c.home)
	unbound.Impersonate.Extra = nil
	of := func(as *rest.Config) images { return images{x, as} }
	home := of(c.config)
	eventually(t, func() bool { return home.admitted(evil) })
	c.enforce(func() bool { return !home.admitted(evil) && !of(unbound).admitted(current) })

	for name, tc := range map[string]struct {
		of       *rest.Config
		admitted []string
		denied   []string
	}{
		"a pod that runs":               {c.config, []string{current}, []string{"registry.example/next", mirror, evil, ""}},
		"a pod of another release":      {c.boundTo(next), []string{"registry.example/next", mirror}, []string{current, sidecar, evil}},
		"a pod that was evicted":        {c.boundTo(evicted), []string{"registry.example/evicted"}, []string{current, evil}},
		"a pod without the label":       {c.boundTo(unlabeled), []string{"registry.example/unlabeled"}, []string{current, evil}},
		"a pod whose image was changed": {c.boundTo(changed), []string{"registry.example/patched"}, []string{current, "registry.example/changed"}},
		"no pod":                        {unbound, nil, []string{current, evil}},
	} {
		for _, image := range tc.admitted {
			if err := of(tc.of).adds(image); err != nil {
				t.Errorf("a token of %s: image %s: got %v, want admission", name, image, err)
			}
		}
		for _, image := range tc.denied {
			if err := of(tc.of).adds(image); image != "" && !deniedByAny(err) || err == nil {
				t.Errorf("a token of %s: image %q: got %v, want a denial by a policy", name, image, err)
			}
		}
	}
	if err := of(unbound).adds(current); err == nil || !strings.Contains(err.Error(), "bound to a pod") {
		t.Errorf("a token of no pod: got %v, want a message that says so", err)
	}
	for _, pod := range []*corev1.Pod{c.home, next, evicted, unlabeled, changed} {
		remove(t, pod)
	}
	if err := x.debugs(c.tenant()); err != nil {
		t.Errorf("without a pod of the operator, a tenant adds an ephemeral container: got %v, want admission", err)
	}
}

// --door-image counts in each form in which the operator reads it.
func TestContainmentOfDoorImage(t *testing.T) {
	c := contain(t, "default")
	x := newTarget(c)
	const mirror = "mirror.example/door:1"
	at := func(name string, args ...string) images {
		return images{x, c.boundTo(c.another(name, corev1.PodRunning, nil, args))}
	}
	forms := []images{
		at("a", "--zap-log-level=info", "--door-image="+mirror), at("b", "-door-image="+mirror, "--transport=Auto"),
		at("c", "--door-image", mirror), at("d", "--transport=Auto", "-door-image", mirror, "--zap-log-level=info"),
	}
	without := []images{at("e", mirror), at("f", "--door-image="+mirror+"-2"), at("g", "--other-door-image="+mirror), at("h", "--door-image", "other", mirror)}
	eventually(t, func() bool { return without[0].admitted("evil") })
	c.enforce(func() bool { return !without[0].admitted("evil") })
	for _, of := range forms {
		if err := of.adds(mirror); err != nil {
			t.Errorf("pod %s: got %v, want admission", of.as.Impersonate.Extra, err)
		}
	}
	for _, of := range without {
		if err := of.adds(mirror); !deniedByAny(err) {
			t.Errorf("pod %s: got %v, want a denial by a policy", of.as.Impersonate.Extra, err)
		}
	}
}
