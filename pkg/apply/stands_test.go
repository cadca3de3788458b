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
		"as it was stated": {nil, true},
		"admission changed an image": {func(p *corev1ac.PodApplyConfiguration) {
			p.Spec.Containers[0].WithImage("mirror/a:1")
		}, true},
		"admission changed a list of values": {func(p *corev1ac.PodApplyConfiguration) {
			p.Spec.Containers[0].WithArgs("y")
		}, true},
		"another statement":           {func(p *corev1ac.PodApplyConfiguration) { p.Annotations["digest"] = "2" }, false},
		"somebody took an image over": {func(p *corev1ac.PodApplyConfiguration) { p.Spec.Containers[0].Image = nil }, false},
		"somebody removed a variable": {func(p *corev1ac.PodApplyConfiguration) {
			p.Spec.Containers[0].Env = p.Spec.Containers[0].Env[:1]
		}, false},
		"somebody removed a label": {func(p *corev1ac.PodApplyConfiguration) { p.Labels = nil }, false},
		"it owns more than that":   {func(p *corev1ac.PodApplyConfiguration) { p.WithLabels(map[string]string{"b": "c"}) }, false},
	} {
		if got := Stands(stated(test.change), stated(nil)); got != test.stands {
			t.Errorf("%s: it stands: %t", name, got)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	one := corev1ac.Pod("pod", "namespace").WithLabels(map[string]string{"app": "a", "b": "c"})
	same := corev1ac.Pod("pod", "namespace").WithLabels(map[string]string{"b": "c", "app": "a"})
	if Digest(one) != Digest(same) || Digest(one) == Digest(same.WithLabels(map[string]string{"app": "b"})) {
		t.Error("the digest is not that of what is stated")
	}
}
