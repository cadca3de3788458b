package record

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The policy does not change what has power over its node, so it covers nothing there; what
// such a container shows of its image still counts.
func TestNextStartsProtected(t *testing.T) {
	privileged := &corev1.SecurityContext{Privileged: new(true)}
	value := func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: v1alpha1.JavaOptionsVariable, Value: "-Da"}}
	}
	beside := func(shared bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.ShareProcessNamespace = &shared
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "agent", SecurityContext: privileged})
		}
	}
	const protected = v1alpha1.ReasonPodProtected + ", adds false, contradicts false"
	for name, tc := range map[string]struct {
		pod     func(*corev1.Pod)
		options v1alpha1.JavaOptions
		want    string
	}{
		"an ordinary pod":     {func(*corev1.Pod) {}, v1alpha1.JavaOptionsAbsent, ", adds true, contradicts false"},
		"its value":           {value, v1alpha1.JavaOptionsSet, ", adds false, contradicts false"},
		"kube-system":         {func(p *corev1.Pod) { p.Namespace = "kube-system" }, v1alpha1.JavaOptionsAbsent, protected},
		"the node's network":  {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, v1alpha1.JavaOptionsAbsent, protected},
		"with a value":        {func(p *corev1.Pod) { value(p); p.Spec.HostNetwork = true }, v1alpha1.JavaOptionsSet, protected},
		"privileged":          {func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = privileged }, v1alpha1.JavaOptionsAbsent, protected},
		"privileged, Java 8":  {func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = privileged }, v1alpha1.JavaOptionsIgnored, "VariableNotRead, adds false, contradicts true"},
		"privileged, and set": {func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = privileged }, v1alpha1.JavaOptionsSet, "SetByImage, adds false, contradicts true"},
		"privileged, unknown": {func(p *corev1.Pod) { p.Spec.Containers[0].SecurityContext = privileged }, "", "nothing"},
		"beside one":          {beside(false), v1alpha1.JavaOptionsAbsent, ", adds true, contradicts false"},
		"sharing processes":   {beside(true), v1alpha1.JavaOptionsAbsent, protected},
		"being debugged": {func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{TargetContainerName: "app", EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debugger", SecurityContext: privileged}}}
			p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debugger", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}, v1alpha1.JavaOptionsAbsent, ", adds true, contradicts false"},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example/app:1"}}}}
		p.Namespace = "shop"
		tc.pod(p)
		got := "nothing"
		for _, s := range NextStarts(p, &v1alpha1.JmxAttachmentStatus{Processes: []v1alpha1.JavaProcess{{Container: "app", JavaOptions: tc.options}}}, nil) {
			got = fmt.Sprintf("%s, adds %t, contradicts %t", s.Reason, s.Adds, s.Contradicts)
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
