package apply

import (
	"testing"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

func TestStands(t *testing.T) {
	t.Parallel()
	stated := func(change func(*corev1ac.PodApplyConfiguration)) *corev1ac.PodApplyConfiguration {
		pod := corev1ac.Pod("pod", "namespace").WithLabels(map[string]string{"app": "a"}).WithAnnotations(map[string]string{"digest": "1"}).WithSpec(corev1ac.PodSpec().
			WithContainers(corev1ac.Container().WithName("app").WithImage("a:1").WithArgs("x").
				WithEnv(corev1ac.EnvVar().WithName("A").WithValue("1"), corev1ac.EnvVar().WithName("B").WithValue("2"))))
		if change != nil {
			change(pod)
		}
		return pod
	}
	for name, test := range map[string]struct {
		change func(*corev1ac.PodApplyConfiguration)
		stands bool
	}{
		"nothing changed": {nil, true},
		"admission changed an image": {func(p *corev1ac.PodApplyConfiguration) {
			p.Spec.Containers[0].WithImage("mirror/a:1")
		}, true},
		"admission changed a list of values": {func(p *corev1ac.PodApplyConfiguration) {
			p.Spec.Containers[0].WithArgs("y")
		}, true},
		"another value is stated":             {func(p *corev1ac.PodApplyConfiguration) { p.Annotations["digest"] = "2" }, false},
		"another manager took the image over": {func(p *corev1ac.PodApplyConfiguration) { p.Spec.Containers[0].Image = nil }, false},
		"another manager removed a variable": {func(p *corev1ac.PodApplyConfiguration) {
			p.Spec.Containers[0].Env = p.Spec.Containers[0].Env[:1]
		}, false},
		"another manager removed a label": {func(p *corev1ac.PodApplyConfiguration) { p.Labels = nil }, false},
		"the manager owns more fields":    {func(p *corev1ac.PodApplyConfiguration) { p.WithLabels(map[string]string{"b": "c"}) }, false},
	} {
		if got := Stands(stated(test.change), stated(nil)); got != test.stands {
			t.Errorf("%s: Stands: got %t, want %t", name, got, test.stands)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	one := corev1ac.Pod("pod", "namespace").WithLabels(map[string]string{"app": "a", "b": "c"})
	same := corev1ac.Pod("pod", "namespace").WithLabels(map[string]string{"b": "c", "app": "a"})
	if Digest(one) != Digest(same) || Digest(one) == Digest(same.WithLabels(map[string]string{"app": "b"})) {
		t.Error("Digest depends on the order of labels, or ignores a value")
	}
}
