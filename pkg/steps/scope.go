package steps

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Scope is one reconcile of one pod: what was observed at its start, what the steps
// work with, and the record that they add to.
type Scope struct {
	// Attachment is the record. Steps write to its Status only; it is nobody
	// else's copy.
	Attachment *v1alpha1.JmxAttachment
	// Pod is the pod that the record is about, of that UID.
	Pod *corev1.Pod
	// Exporter is the exporter that owns the pod; nil in a pod that is detached.
	Exporter *v1alpha1.PrometheusJmxExporter
	// Inputs are what the exporter names.
	Inputs
	// Granted reports that the rollout has come to the pod: it may be brought to
	// what the exporter says now. Else it is kept as its record says.
	Granted bool
	// Published are the endpoints of this pod that stand in EndpointSlices of ours.
	Published []PublishedEndpoint
	// Health is what the health checks of endpoints came to that did not answer.
	Health map[ProcessIdentity]Health
	// ReinspectAfter is the time until a container is inspected again, whatever is
	// known of it; 0 for now, negative for never.
	ReinspectAfter func(*v1alpha1.InspectedContainer) time.Duration
	// Now is when the reconcile began.
	Now metav1.Time

	// Artifacts are the files that the operator brings into containers.
	Artifacts *Artifacts
	// Transport is the way into containers that the operator may use; both if it is
	// empty or Auto.
	Transport v1alpha1.Transport
	// Helper runs the helper in the pod's containers.
	Helper Helper
	// Prober asks endpoints over HTTP.
	Prober Prober
	// Writer writes the pod's annotations.
	Writer PodWriter
	// Persist writes the record as it is.
	Persist func(context.Context) error
	// Protection says what is attached to only where the operator's flags allow it.
	Protection Protection
	// Authority answers whether who wrote the exporter may attach; nil if nobody asks.
	Authority Authority
	// DoorGate is why no ephemeral container may be added now for a container with this
	// ID; nil when it may.
	DoorGate func(container, id string) *statemachine.Outcome

	// retryAfter is the longest of the times after which trying to inspect a container
	// makes sense, where they are known; 0 where they are not.
	retryAfter time.Duration
	// present are the files to stage that lie in a container, by its name, as far as
	// this reconcile has seen or staged them.
	present map[string][]helperapi.File
}

// Inputs are what an exporter names beside itself, for its pods.
type Inputs struct {
	// Config is its configuration.
	Config Input
	// Security is what secures its endpoints; the zero Security for none.
	Security Security
}

// Problem is why nothing new is brought to the pods; nil if nothing keeps it.
func (i Inputs) Problem() *Problem { return cmp.Or(i.Config.Problem, i.Security.Problem) }

// Input is what an exporter names: a file, or why there is none.
type Input struct {
	transport.Blob
	// Problem is why it cannot be used; nil when it can.
	Problem *Problem
	// Warning is a sentence on what the exporter ignores in it; empty if nothing.
	Warning string
}

// Security is what secures an exporter's endpoints.
type Security struct {
	Input
	// CertificateSHA256 is the digest of the certificate in it, in DER.
	CertificateSHA256 string
}

// Problem is a typed reason with a sentence that a person can act on.
type Problem struct{ Reason, Message string }

// PublishedEndpoint is an endpoint in an EndpointSlice.
type PublishedEndpoint struct {
	Address string
	Port    int32
	// TLS says that it is published as one that speaks TLS.
	TLS bool
}

// Artifacts are the files that the operator brings into containers.
type Artifacts = transport.Artifacts

// Helper runs the helper in a container.
type Helper interface {
	transport.Helper
	// Open makes sure that there is room for an operation in a container, and that it
	// answers, before it is recorded that the operation was begun.
	Open(ctx context.Context, in transport.Container) error
}

// Status is the record.
func (s *Scope) Status() *v1alpha1.JmxAttachmentStatus { return &s.Attachment.Status }

// Key names all that an attempt depends on and that an event announces. While it
// stands, what needs a person still does, and a backoff runs. A configuration counts
// as soon as it is granted: one that cannot be used has nothing tried again.
func (s *Scope) Key() string {
	containers := map[string]string{}
	for _, c := range running(s.Pod) {
		containers[c.name] = c.id
	}
	return digest(
		s.Pod.UID, s.Pod.Status.PodIP, containers, s.Attachment.Spec.Revision, s.Exporter.UID,
		rules(s.Exporter), s.Exporter.Spec.Transport, s.Transport, transport.Doors(s.Pod), s.refusesOnWarning(), s.Exporter.Spec.MemoryHeadroom, s.Exporter.Annotations[v1alpha1.AnnotationResume], othersAnnotations(s.Pod, Annotations()),
		s.Protection,
		// Another operator may know how to deal with what this one cannot.
		s.Artifacts.Command(),
	)
}

// Revision names what the exporter's pods are to be brought to: all of it that
// reaches into a pod, and the exporter itself: a slot that one of the same name
// granted, before it was deleted, is none of its successor's rollout.
func Revision(exporter *v1alpha1.PrometheusJmxExporter, inputs Inputs, artifacts *Artifacts) string {
	return digest(
		exporter.UID, exporter.Spec.Port, exporter.Spec.Containers, exporter.Spec.Processes, exporter.Spec.AllowSharedTmp,
		inputs.Config.SHA256, artifacts.Agent.SHA256, artifacts.Implementation.SHA256,
		exporter.Spec.EndpointSecurity != nil, inputs.Security.SHA256,
	)
}

// HowToResume is what a message about a rollout that is halted for a reason ends with.
func HowToResume(reason string) string {
	mend := "configuration"
	if reason == v1alpha1.ReasonSecurityRejected {
		mend = "Secret"
	}
	return fmt.Sprintf("To resume, change the %s, or set the exporter's annotation %s to a new value.", mend, v1alpha1.AnnotationResume)
}

// Resume names the value of the annotation AnnotationResume; empty for none.
func Resume(exporter *v1alpha1.PrometheusJmxExporter) string {
	value := exporter.Annotations[v1alpha1.AnnotationResume]
	if value == "" {
		return ""
	}
	return digest(value)
}

// rules are a digest of what chooses processes.
func rules(exporter *v1alpha1.PrometheusJmxExporter) string {
	if len(exporter.Spec.Containers) == 0 && len(exporter.Spec.Processes) == 0 && !exporter.Spec.AllowSharedTmp {
		return ""
	}
	return digest(exporter.Spec.Containers, exporter.Spec.Processes, exporter.Spec.AllowSharedTmp)
}

func digest(values ...any) string {
	data, err := json.Marshal(values)
	if err != nil { // strings, numbers and structs of them always marshal
		panic(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// memoryHeadroom is what an exporter asks of the helper, in bytes. The API server
// sets the default; one that is older than the field has none.
func memoryHeadroom(exporter *v1alpha1.PrometheusJmxExporter) int64 {
	if headroom := exporter.Spec.MemoryHeadroom; headroom != nil {
		return headroom.Value()
	}
	return helperapi.DefaultMemoryHeadroom
}

type container struct{ name, id string }

// lost reports whether endpoints of the pod are published that its record may not know.
func (s *Scope) lost() bool { return len(s.Published) > 0 && !EndpointsKnown(s.Status()) }

// keepsAll reports whether the record is to be filled from what is in the pod,
// whatever the exporter chooses when its rollout comes to the pod: the record was
// lost, and its endpoints are published.
func (s *Scope) keepsAll() bool {
	return !s.Granted && s.lost()
}

// Chooses reports whether what the exporter says of containers and processes counts
// now: its rollout has come to the pod, or there is nothing in it to be kept.
func (s *Scope) Chooses() bool {
	return s.Granted || len(s.Published) == 0 && len(s.Filter(func(p *v1alpha1.JavaProcess) bool {
		return MayHaveAgent(p) || p.Endpoint != nil
	})) == 0
}

// containers are the running containers that the exporter names, or all.
func (s *Scope) containers() []container {
	named := s.Exporter.Spec.Containers
	if s.keepsAll() {
		named = nil
	}
	return slices.DeleteFunc(running(s.Pod), func(c container) bool {
		return len(named) > 0 && !slices.Contains(named, v1alpha1.ContainerName(c.name))
	})
}

// ContainerStatuses are what the kubelet says of the pod's containers, init containers
// after the others.
func ContainerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
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

// ReadySince is when the pod became ready; zero when it is not.
func ReadySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// kubeletUID is the UID under which the kubelet runs the pod, and names its
// directories. Of a static pod the API server has a mirror with a UID of its own,
// and an annotation with the other one: the kubelet alone sets it, and it never
// changes. What is no UID there would reach the container as another request.
func kubeletUID(pod *corev1.Pod) types.UID {
	const longest = 64
	uid := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if uid == "" || len(uid) > longest || strings.Trim(uid, "0123456789abcdefABCDEF-") != "" {
		return pod.UID
	}
	return types.UID(uid)
}

// Target is the container of that name in the pod, for the helper.
func Target(pod *corev1.Pod, name string) transport.Container {
	target := transport.Container{
		Namespace: pod.Namespace, Pod: pod.Name, PodUID: kubeletUID(pod), Name: name, Node: pod.Spec.NodeName,
		Space: space(pod, name), Object: pod,
	}
	for _, c := range running(pod) {
		if c.name == name {
			target.ID = c.id
		}
	}
	return target
}
