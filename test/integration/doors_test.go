package integration

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
	"banzaicloud.com/jmx-exporter-operator/test/fakenode"
)

// byTransport is the helper by each transport: an exec into the scripted container, a node agent, or
// the operator's own Door, whose ephemeral containers exist in the API server and lead to
// the scripted container.
func (o *operator) byTransport(as client.Client, writer *records.Writer) transport.Helper {
	exec := o.containers.Through(o.seam)
	limits := transport.NewLimits(16, 16, 16)
	door := transport.NewDoor(transport.NewExec(doorStreams{o.containers, doorPods{writer, as}}, o.artifacts, o.seam, limits), doorPods{writer, as}, transport.DoorOptions{Image: "registry.example/operator:1"})
	return helperFunc(func(ctx context.Context, in transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
		switch in.Transport {
		case v1alpha1.TransportEphemeralContainer:
		case v1alpha1.TransportNode:
			return o.nodeAgents.run(ctx, o, in, verb, request, blobs...)
		default:
			return exec.Run(ctx, in, verb, request, blobs...)
		}
		sessions := transport.NewSessions(door)
		defer sessions.Close()
		return sessions.Run(ctx, in, verb, request, blobs...)
	})
}

// doorPods reads pods from the API server.
type doorPods struct {
	*records.Writer
	reader client.Reader
}

// Live implements transport.Pods.
func (p doorPods) Live(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	return &pod, p.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
}

// doorStreams are execs into ephemeral containers, each of which leads to its target, the
// scripted container.
type doorStreams struct {
	*containers
	pods doorPods
}

// Stream implements transport.Streams.
func (s doorStreams) Stream(ctx context.Context, in transport.Container, command []string, stdin io.Reader, stdout, _ io.Writer) error {
	if command[0] != helperapi.DoorProgram {
		return fmt.Errorf("in an ephemeral container there is no %q", command)
	}
	pod, err := s.pods.Live(ctx, in.Namespace, in.Pod) // a cache holds only the names
	if err != nil {
		return err
	}
	for _, c := range pod.Spec.EphemeralContainers {
		if c.Name == in.Name {
			in.Name = c.TargetContainerName
			return s.Serve(fakenode.Place{Pod: in.PodUID, Name: in.Name}, stdin, stdout)
		}
	}
	return fmt.Errorf("the pod has no ephemeral container %s", in.Name)
}

// startDoors starts the ephemeral containers of pods, as a kubelet
// would.
func (c *cluster) startDoors() {
	c.t.Helper()
	var pods corev1.PodList
	c.list(&pods)
	for _, pod := range pods.Items {
		known := len(pod.Status.EphemeralContainerStatuses)
		for _, door := range pod.Spec.EphemeralContainers[known:] {
			pod.Status.EphemeralContainerStatuses = append(pod.Status.EphemeralContainerStatuses, running(door.Name))
		}
		if len(pod.Status.EphemeralContainerStatuses) > known {
			c.updateStatus(&pod)
		}
	}
}
