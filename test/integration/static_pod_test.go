package integration

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/manager"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// kubeletUID is the UID under which the kubelet runs the pods of aStaticPod.
const kubeletUID = types.UID("8c2b1a4de0f95d3b7a6c1e2f3d4b5a69")

// aStaticPod returns the mirror of a static pod, whose container runs under another UID.
func (c *cluster) aStaticPod(address string, jvms ...*jvm) *corev1.Pod {
	c.t.Helper()
	pod := c.run(aPod("app-node-1").at(address).annotated(corev1.MirrorPodAnnotationKey, string(kubeletUID)).annotated("kubernetes.io/config.hash", string(kubeletUID)))
	c.containers.Remove(pod.UID, "app")
	if len(jvms) > 0 {
		c.containers.Start(kubeletUID, "app", jvms...)
	}
	return pod
}

// A static pod is attached to under the UID of its container, and the API
// server allows annotations on its mirror. A recreated mirror has the same
// JVM, into which nothing is loaded again.
func TestStaticPod(t *testing.T) {
	t.Parallel()
	f := &fleet{cluster: newCluster(t)}
	f.o = f.operate()
	jvm := aJVM(javaStartTime)
	f.pods = []*corev1.Pod{f.aStaticPod("", jvm)}
	f.exporter = f.export("exporter")
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the pod is attached", isAnnotated)
	if port := f.annotations(f.pods[0])["prometheus.io/port"]; port != "9400" {
		t.Errorf("prometheus.io/port of the mirror: got %q, want %q", port, "9400")
	}
	f.later(2 * time.Minute)
	f.o.settle()

	mirror, id := f.pods[0], f.pods[0].Status.ContainerStatuses[0].ContainerID
	remove(t, mirror)
	f.garbageCollect()
	f.o.settle()
	f.pods = []*corev1.Pod{f.aStaticPod(mirror.Status.PodIP)}
	f.changeStatus(f.pods[0], func(status *corev1.PodStatus) { status.ContainerStatuses[0].ContainerID = id })
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the mirror is recreated", isAnnotated)
	if jvm.Loads != 1 {
		t.Errorf("loads of the agent: got %d, want 1", jvm.Loads)
	}
}

// The API server rejects an ephemeral container in a static pod; its message is
// reported.
func TestDoorOfStaticPod(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	pod := c.aStaticPod("")
	pods, err := manager.NewPods(config, effects.Direct)
	if err != nil {
		t.Fatal(err)
	}
	door := transport.NewDoor(transport.NewExec(nil, artifacts, effects.Direct, transport.NewLimits(1, 1, 1)), pods, transport.DoorOptions{Image: "registry.example/operator"})
	_, err = door.Open(t.Context(), steps.Target(pod, "app"))
	refused, ok := errors.AsType[*transport.Error](err)
	if !ok || refused.Reason != v1alpha1.ReasonDoorRefused || !strings.Contains(refused.Message, "static pods do not support ephemeral containers") {
		t.Errorf("got error %v, want DoorRefused with the API server's message", err)
	}
}
