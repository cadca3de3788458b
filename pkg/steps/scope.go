package steps

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// Granted tells that the pod's turn has come, and the rollout goes on: it may
	// be brought to what the exporter says now. Else it is kept as its record says.
	Granted bool
	// Published are the endpoints of this pod that stand in EndpointSlices of ours.
	Published []PublishedEndpoint
	// Waited tells that what may pass has been waited for: who was left alone is
	// tried once more, and the others go on without it at once.
	Waited bool
	// Now is when the reconcile began.
	Now metav1.Time
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

// Key names all that an attempt depends on and that an event announces. While
// it stands, what needs a person still does, and a backoff runs on.
func (s *Scope) Key(artifacts *Artifacts) string {
	containers := map[string]string{}
	for _, c := range running(s.Pod) {
		containers[c.name] = c.id
	}
	return digest(
		s.Pod.UID, s.Pod.Status.PodIP, containers, s.Exporter.Generation, s.Attachment.Spec.Revision,
		s.Config.SHA256, s.Config.Problem, othersAnnotations(s.Pod, Annotations()),
		// Another operator may know how to deal with what this one cannot; its
		// helper is stamped with its version.
		artifacts.Helpers["x86_64"].SHA256, artifacts.Agent.SHA256, artifacts.Implementation.SHA256,
	)
}

// Revision names what the exporter's pods are to be brought to: all of it that
// reaches into a pod. Another value of the annotation AnnotationResume is
// another revision.
func Revision(exporter *v1alpha1.PrometheusJmxExporter, config Config, artifacts *Artifacts) string {
	return digest(
		exporter.Spec.Port, exporter.Spec.Containers, exporter.Spec.Processes, exporter.Annotations[AnnotationResume],
		config.SHA256, artifacts.Agent.SHA256, artifacts.Implementation.SHA256,
	)
}

// rules are a digest of what chooses processes.
func rules(exporter *v1alpha1.PrometheusJmxExporter) string {
	if len(exporter.Spec.Containers) == 0 && len(exporter.Spec.Processes) == 0 {
		return ""
	}
	return digest(exporter.Spec.Containers, exporter.Spec.Processes)
}

func digest(values ...any) string {
	data, err := json.Marshal(values)
	if err != nil { // strings, numbers and structs of them always marshal
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

type container struct{ name, id string }

// containers are the running containers that the exporter names, or all.
func (s *Scope) containers() []container {
	named := s.Exporter.Spec.Containers
	return slices.DeleteFunc(running(s.Pod), func(c container) bool {
		return len(named) > 0 && !slices.Contains(named, v1alpha1.ContainerName(c.name))
	})
}

// minAge is how long a container runs at least before it is looked into. What an
// application's main settles first, such as java.util.logging.manager, is settled
// for it when an agent comes before: WildFly does not start then.
const minAge = 2 * time.Second

// justStarted tells whether a container has not run for so long. One that starts in
// the future does so by another clock, and is not waited for.
func (s *Scope) justStarted(c container) bool {
	for _, status := range slices.Concat(s.Pod.Status.ContainerStatuses, s.Pod.Status.InitContainerStatuses) {
		if running := status.State.Running; status.Name == c.name && running != nil && !running.StartedAt.IsZero() {
			age := s.Now.Sub(running.StartedAt.Time)
			return 0 <= age && age < minAge
		}
	}
	return false
}

// running are the running containers in the order of the spec, sidecars (init
// containers that restart) after the others.
func running(pod *corev1.Pod) []container {
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
	add(pod.Spec.Containers, pod.Status.ContainerStatuses)
	add(pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
	return running
}

// Target is the container of that name in the pod, for the helper.
func Target(pod *corev1.Pod, name string) transport.Container {
	return transport.Container{
		Namespace: pod.Namespace, Pod: pod.Name, PodUID: pod.UID, Name: name, Node: pod.Spec.NodeName,
	}
}
