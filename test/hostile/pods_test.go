//go:build linux

package hostile

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// pods is an API server with one pod, whose ephemeral containers run as soon as they are
// added.
type pods struct{ pod *corev1.Pod }

func newPods(user uint32) *pods {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", "hostile", podUID
	pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", User: &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{UID: int64(user), GID: int64(user)}}}}
	return &pods{pod}
}

// Live implements transport.Pods.
func (p *pods) Live(context.Context, string, string) (*corev1.Pod, error) {
	return p.pod.DeepCopy(), nil
}

// AddEphemeralContainer implements transport.Pods.
func (p *pods) AddEphemeralContainer(_ context.Context, _ *corev1.Pod, c *corev1ac.EphemeralContainerApplyConfiguration) error {
	p.pod.Spec.EphemeralContainers = append(p.pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: *c.Name}})
	return nil
}

// started returns the pod once all of its ephemeral containers run.
func (p *pods) started() *corev1.Pod {
	pod := p.pod.DeepCopy()
	for _, c := range pod.Spec.EphemeralContainers {
		pod.Status.EphemeralContainerStatuses = append(pod.Status.EphemeralContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return pod
}
