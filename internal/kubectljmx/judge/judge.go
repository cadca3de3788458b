// Package judge has the agents in a pod judge a configuration that they do not serve,
// through the helpers that the operator left there.
package judge

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/kubectljmx/cluster"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Dial returns what opens sessions in containers of a cluster.
type Dial func(*cluster.Cluster) transport.Dialer

// Present is the Dial with the helpers that are there, and with the rights of the user.
func Present(cl *cluster.Cluster) transport.Dialer {
	return transport.NewPresent(transport.NewStreams(cl.Config, cl.Clientset.CoreV1().RESTClient()))
}

// Pod has each JVM of a pod that the operator attached to judge a configuration; with a
// container, only those in it. They judge one after the other.
func Pod(ctx context.Context, cl *cluster.Cluster, dial Dial, name, container string, config []byte) ([]Judgement, error) {
	record, err := cl.Attached(ctx, name)
	if err != nil {
		return nil, err
	}
	attached := attachedIn(record, container)
	if len(attached) == 0 {
		return nil, notAttached(record, container)
	}
	of := &corev1.Pod{}
	if err := cl.Get(ctx, client.ObjectKey{Namespace: record.Namespace, Name: name}, of); err != nil {
		return nil, cluster.Explain(err)
	}
	if of.UID != record.Spec.Pod.UID {
		return nil, fmt.Errorf("pod %s was replaced, and the operator has not processed the new one: try again", name)
	}
	exporter, err := cl.Exporter(ctx, record.Spec.Exporter.Name)
	if err != nil {
		return nil, err
	}
	sessions := transport.NewSessions(dial(cl))
	defer sessions.Close()
	file := transport.NewBlob("config-", config, ".yaml")
	var all []Judgement
	for _, p := range attached {
		judged, err := ask(ctx, sessions, target(of, record, p), request(exporter, of, p, file), file)
		j := Judgement{Container: p.Container, PID: p.PID}
		if err != nil {
			j.fail(err, record)
		} else {
			j.take(judged)
		}
		all = append(all, j)
	}
	return all, nil
}

// attachedIn returns the JVMs that have the operator's agent.
func attachedIn(record *v1alpha1.JmxAttachment, container string) []v1alpha1.JavaProcess {
	var attached []v1alpha1.JavaProcess
	for _, p := range record.Status.Processes {
		if !p.Adopted && p.ConfigSHA256 != "" && (container == "" || container == p.Container) {
			attached = append(attached, p)
		}
	}
	return attached
}

func notAttached(record *v1alpha1.JmxAttachment, container string) error {
	in := ""
	if container != "" {
		in = " in container " + container
	}
	return fmt.Errorf("pod %s has no JVM with the operator's agent%s, which alone can judge: it is in phase %s (%s); kubectl jmx why -n %s %s says what to do",
		record.Spec.Pod.Name, in, record.Status.Phase, cmp.Or(record.Status.Reason, "nothing failed"), record.Namespace, record.Spec.Pod.Name)
}

// target is the container of a JVM, and how the operator reaches it.
func target(of *corev1.Pod, record *v1alpha1.JmxAttachment, p v1alpha1.JavaProcess) transport.Container {
	in := transport.Container{
		Namespace: of.Namespace, Pod: of.Name, PodUID: pod.KubeletUID(of), Name: p.Container, ID: p.ContainerID,
		Node: of.Spec.NodeName, Object: of,
	}
	for _, c := range record.Status.Containers {
		if c.Name == p.Container {
			in.Transport = c.Transport
		}
	}
	return in
}

// request is that of the operator for a JVM, but for the configuration.
func request(exporter *v1alpha1.PrometheusJmxExporter, of *corev1.Pod, p v1alpha1.JavaProcess, file transport.Blob) helperapi.Request {
	return helperapi.Request{
		Target: &helperapi.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)},
		Files:  []helperapi.File{file.File}, Candidate: &file.File,
		// The operator has loaded its agent from this /tmp: it is as the exporter permits.
		AllowSharedTmp: true,
		MemoryHeadroom: pod.MemoryHeadroom(exporter), PodMemory: pod.MemoryFor(of, p.Container),
	}
}

func ask(ctx context.Context, sessions *transport.Sessions, in transport.Container, request helperapi.Request, file transport.Blob) (*helperapi.Judgement, error) {
	if _, err := sessions.Run(ctx, in, helperapi.VerbStage, request, file); err != nil {
		return nil, err
	}
	report, err := sessions.Run(ctx, in, helperapi.VerbCheck, request)
	switch {
	case report != nil && report.Judgement != nil: // also if the agent did not answer what the helper wrote after it
		return report.Judgement, nil
	case err == nil:
		err = &transport.Error{Reason: v1alpha1.ReasonHelperFailed, Message: "The helper reported no judgement."}
	}
	return nil, err
}
