package steps

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Scope is what one reconcile of one attachment knows: read at its start, and
// the record that the steps add to.
type Scope struct {
	// Attachment is the record. Steps write to its Status only; it is nobody
	// else's copy.
	Attachment *v1alpha1.JmxAttachment
	// Pod is the pod that the record is about: of that UID, matched, running.
	Pod *corev1.Pod
	// Exporter is the exporter that owns the pod.
	Exporter *v1alpha1.PrometheusJmxExporter
	// Config is the exporter's configuration.
	Config Config
	// Published are the endpoints of this pod that stand in EndpointSlices of ours.
	Published []PublishedEndpoint
}

// Config is an exporter's configuration: a file, or why there is none.
type Config struct {
	transport.Blob
	// Problem is why the configuration cannot be used; nil when it can.
	Problem *Problem
}

// Problem is a typed reason with a sentence that a person can act on.
type Problem struct{ Reason, Message string }

// PublishedEndpoint is an endpoint in an EndpointSlice.
type PublishedEndpoint struct {
	Address string
	Port    int32
}

// Artifacts are the files that the operator brings into containers.
type Artifacts = transport.Artifacts

// Helper runs the helper in a container.
type Helper = transport.Helper

// Status is the record.
func (s *Scope) Status() *v1alpha1.JmxAttachmentStatus { return &s.Attachment.Status }

// Process is the process that is attached to: the first in the record; nil
// before one was found.
func (s *Scope) Process() *v1alpha1.JavaProcess {
	if len(s.Status().Processes) == 0 {
		return nil
	}
	return &s.Status().Processes[0]
}

// Key names all that an attempt depends on and that an event announces. While
// it stands, what needs a person still does, and a backoff runs on.
func (s *Scope) Key(artifacts *Artifacts) string {
	containers := map[string]string{}
	for _, c := range s.containers() {
		containers[c.name] = c.id
	}
	data, err := json.Marshal([]any{
		s.Pod.UID, s.Pod.Status.PodIP, containers, s.Exporter.Generation,
		s.Config.SHA256, s.Config.Problem, othersAnnotations(s.Pod, Annotations()),
		// Another operator may know how to deal with what this one cannot; its
		// helper is stamped with its version.
		artifacts.Helpers["x86_64"].SHA256, artifacts.Agent.SHA256, artifacts.Implementation.SHA256,
	})
	if err != nil { // strings and maps of strings always marshal
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

type container struct{ name, id string }

// containers are the running containers in the order of the spec, sidecars
// (init containers that restart) after the others.
func (s *Scope) containers() []container {
	var running []container
	add := func(specs []corev1.Container, statuses []corev1.ContainerStatus) {
		for _, spec := range specs {
			for _, status := range statuses {
				if status.Name == spec.Name && status.State.Running != nil && status.ContainerID != "" {
					running = append(running, container{name: status.Name, id: status.ContainerID})
				}
			}
		}
	}
	add(s.Pod.Spec.Containers, s.Pod.Status.ContainerStatuses)
	add(s.Pod.Spec.InitContainers, s.Pod.Status.InitContainerStatuses)
	return running
}

func (s *Scope) target(name string) transport.Container {
	return transport.Container{
		Namespace: s.Pod.Namespace, Pod: s.Pod.Name, PodUID: s.Pod.UID, Name: name, Node: s.Pod.Spec.NodeName,
	}
}
