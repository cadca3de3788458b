package integration

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podBuilder describes a pod to create; by default it has one container, app, with
// one JVM, the label app: dummyapp, and is Ready.
type podBuilder struct {
	pod     corev1.Pod
	address string
	jvms    map[string][]*jvm
	// hangs makes every exec into its containers block.
	hangs bool
	// noShell means that its containers have no shell.
	noShell bool
}

func aPod(name string) *podBuilder {
	p := &podBuilder{jvms: map[string][]*jvm{}}
	p.pod.Name = name
	p.pod.Labels = map[string]string{"app": "dummyapp"}
	p.pod.Spec.NodeName = "node-1"
	p.pod.Spec.TerminationGracePeriodSeconds = new(int64(0))
	return p.container("app", aJVM(javaStartTime))
}

func (p *podBuilder) container(name string, jvms ...*jvm) *podBuilder {
	p.pod.Spec.Containers = append(p.pod.Spec.Containers, corev1.Container{Name: name, Image: "registry.example/" + name})
	p.jvms[name] = jvms
	return p
}

func (p *podBuilder) annotated(key, value string) *podBuilder {
	metav1.SetMetaDataAnnotation(&p.pod.ObjectMeta, key, value)
	return p
}

func (p *podBuilder) withoutShell() *podBuilder {
	p.noShell = true
	return p
}

func (p *podBuilder) at(address string) *podBuilder {
	p.address = address
	return p
}

func (p *podBuilder) without(container string) *podBuilder {
	p.jvms[container] = nil
	return p
}

// run creates the pod and runs its containers, as a kubelet would.
func (c *cluster) run(p *podBuilder) *corev1.Pod {
	c.t.Helper()
	pod := p.pod.DeepCopy()
	pod.Namespace = c.namespace
	create(c.t, pod)
	if p.address == "" {
		n := addresses.Add(1)
		p.address = fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: p.address, PodIPs: []corev1.PodIP{{IP: p.address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, running(container.Name))
		scripted := c.containers.Start(pod.UID, container.Name, p.jvms[container.Name]...)
		scripted.Hangs, scripted.NoShell = p.hangs, p.noShell
	}
	c.updateStatus(pod)
	return pod
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Ready: true, ContainerID: fmt.Sprintf("containerd://%s-%d", name, restarts.Add(1)),
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}
}

func crashing(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
}

func (c *cluster) updateStatus(pod *corev1.Pod) {
	c.t.Helper()
	if err := admin.Status().Update(c.t.Context(), pod); err != nil {
		c.t.Fatal(err)
	}
}

// restart replaces a pod's container app: another ID, another JVM, no files.
func (c *cluster) restart(pod *corev1.Pod) {
	c.t.Helper()
	// It runs before any watch event.
	c.containers.Start(pod.UID, "app", aJVM(javaStartTime+restarts.Add(1)))
	c.changeStatus(pod, func(status *corev1.PodStatus) {
		status.ContainerStatuses[0] = running("app")
	})
}

func (c *cluster) changeStatus(pod *corev1.Pod, how func(*corev1.PodStatus)) {
	c.t.Helper()
	get(c.t, pod)
	how(&pod.Status)
	c.updateStatus(pod)
}

// setContainer replaces a container's status.
func (c *cluster) setContainer(pod *corev1.Pod, status corev1.ContainerStatus) {
	c.t.Helper()
	c.changeStatus(pod, func(all *corev1.PodStatus) {
		for i := range all.ContainerStatuses {
			if all.ContainerStatuses[i].Name == status.Name {
				all.ContainerStatuses[i] = status
			}
		}
	})
}

// container returns the pod's container app.
func (c *cluster) container(pod *corev1.Pod) *container { return c.containers.Get(pod.UID, "app") }

// jvm returns the only JVM in the pod's container app.
func (c *cluster) jvm(pod *corev1.Pod) *jvm { return c.container(pod).JVMs[0] }
