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

// Scope is one reconcile of one pod: the observations at its start, the dependencies of
// the steps, and the record that they update.
type Scope struct {
	// Attachment is the record, a copy that belongs to this Scope. Steps write only to
	// its Status.
	Attachment *v1alpha1.JmxAttachment
	// Pod is the pod of the record, with the UID in the record.
	Pod *corev1.Pod
	// Exporter is the exporter that owns the pod; nil for a pod that is being detached.
	Exporter *v1alpha1.PrometheusJmxExporter
	// Inputs are the resources that the exporter refers to.
	Inputs
	// Granted reports whether the rollout has granted the current revision to the pod.
	// Otherwise the pod is kept as its record says.
	Granted bool
	// Published are the endpoints of this pod in the operator's EndpointSlices.
	Published []PublishedEndpoint
	// Health has the results of failed health checks.
	Health map[ProcessIdentity]Health
	// ReinspectAfter returns the time until a container is inspected again even if its
	// state is known: at once if 0, never if negative.
	ReinspectAfter func(*v1alpha1.InspectedContainer) time.Duration
	// Now is the start time of the reconcile.
	Now metav1.Time

	// Artifacts are the files that the operator copies into containers.
	Artifacts *Artifacts
	// Transport is the transport that the operator may use; both if it is empty or Auto.
	Transport v1alpha1.Transport
	// Helper runs the helper in the pod's containers.
	Helper Helper
	// Prober probes endpoints over HTTP.
	Prober Prober
	// Writer writes the pod's annotations.
	Writer PodWriter
	// Persist writes the record.
	Persist func(context.Context) error
	// Protection lists what the operator attaches to only if its flags allow it.
	Protection Protection
	// Authority checks whether the user who wrote the exporter may attach; nil disables
	// the check.
	Authority Authority
	// DoorGate returns why no ephemeral container may be added now for the container
	// with this ID; nil if it may.
	DoorGate func(container, id string) *statemachine.Outcome

	// retryAfter is the longest known time after which retrying an inspection makes
	// sense; 0 if none is known.
	retryAfter time.Duration
	// present has the files to stage that exist in each container, as far as this
	// reconcile has seen or staged them.
	present map[string][]helperapi.File
}

// Inputs are the resources that an exporter refers to, as needed by its pods.
type Inputs struct {
	// Config is the exporter's configuration.
	Config Input
	// Security has the security settings of its endpoints; zero for none.
	Security Security
}

// Problem returns why nothing new can be attached; nil if all inputs are valid.
func (i Inputs) Problem() *Problem { return cmp.Or(i.Config.Problem, i.Security.Problem) }

// Input is a resource that an exporter refers to: a file, or the reason why there is
// none.
type Input struct {
	transport.Blob
	// Problem is why the input cannot be used; nil if it can.
	Problem *Problem
	// Warning lists what the exporter ignores in the input; empty if nothing.
	Warning string
}

// Security has the security settings of an exporter's endpoints.
type Security struct {
	Input
	// CertificateSHA256 is the digest of its certificate, in DER.
	CertificateSHA256 string
}

// Problem is a reason with an actionable message.
type Problem struct{ Reason, Message string }

// PublishedEndpoint is an endpoint in an EndpointSlice.
type PublishedEndpoint struct {
	Address string
	Port    int32
	// TLS reports whether it is published as a TLS endpoint.
	TLS bool
}

// Artifacts are the files that the operator copies into containers.
type Artifacts = transport.Artifacts

// Helper runs the helper in a container.
type Helper interface {
	transport.Helper
	// Open verifies that there is capacity for an operation in a container and that the
	// container answers, before the intent of the operation is recorded.
	Open(ctx context.Context, in transport.Container) error
}

// Status returns the status of the record.
func (s *Scope) Status() *v1alpha1.JmxAttachmentStatus { return &s.Attachment.Status }

// Key identifies everything that an attempt depends on and whose changes raise events.
// While it is unchanged, refused steps stay refused and backoffs run. A configuration
// counts as soon as it is granted; an invalid one triggers no retries.
func (s *Scope) Key() string {
	containers := map[string]string{}
	for _, c := range running(s.Pod) {
		containers[c.name] = c.id
	}
	return digest(
		s.Pod.UID, s.Pod.Status.PodIP, containers, s.Attachment.Spec.Revision, s.Exporter.UID,
		rules(s.Exporter), s.Exporter.Spec.Transport, s.Transport, transport.Doors(s.Pod), s.refusesOnWarning(), s.Exporter.Spec.MemoryHeadroom, s.Exporter.Annotations[v1alpha1.AnnotationResume], othersAnnotations(s.Pod, Annotations()),
		s.Protection,
		// A different version of the operator may handle what this one cannot.
		s.Artifacts.Command(),
	)
}

// Revision returns a digest of the desired state of the exporter's pods: everything that
// reaches a pod, and the exporter's UID, so that a grant of a deleted exporter does not
// count in the rollout of its successor of the same name.
func Revision(exporter *v1alpha1.PrometheusJmxExporter, inputs Inputs, artifacts *Artifacts) string {
	return digest(
		exporter.UID, exporter.Spec.Port, exporter.Spec.Containers, exporter.Spec.Processes, exporter.Spec.AllowSharedTmp,
		inputs.Config.SHA256, artifacts.Agent.SHA256, artifacts.Implementation.SHA256,
		exporter.Spec.EndpointSecurity != nil, inputs.Security.SHA256,
	)
}

// HowToResume returns how to resume a rollout that was halted for the reason, for the
// end of a message.
func HowToResume(reason string) string {
	mend := "configuration"
	if reason == v1alpha1.ReasonSecurityRejected {
		mend = "Secret"
	}
	return fmt.Sprintf("To resume, change the %s, or set the exporter's annotation %s to a new value.", mend, v1alpha1.AnnotationResume)
}

// Resume returns a digest of the value of the annotation AnnotationResume; empty for
// none.
func Resume(exporter *v1alpha1.PrometheusJmxExporter) string {
	value := exporter.Annotations[v1alpha1.AnnotationResume]
	if value == "" {
		return ""
	}
	return digest(value)
}

// rules returns a digest of the fields that select processes.
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

// memoryHeadroom returns the exporter's memory headroom in bytes, for the helper. The
// API server sets the default; an exporter that is older than the field has none.
func memoryHeadroom(exporter *v1alpha1.PrometheusJmxExporter) int64 {
	if headroom := exporter.Spec.MemoryHeadroom; headroom != nil {
		return headroom.Value()
	}
	return helperapi.DefaultMemoryHeadroom
}

type container struct{ name, id string }

// lost reports whether endpoints of the pod are published that its record may not know.
func (s *Scope) lost() bool { return len(s.Published) > 0 && !EndpointsKnown(s.Status()) }

// keepsAll reports whether the record must be restored from what is in the pod, whatever
// the exporter selects when its rollout reaches the pod: the record was lost, and its
// endpoints are published.
func (s *Scope) keepsAll() bool {
	return !s.Granted && s.lost()
}

// Chooses reports whether the exporter's current selection of containers and processes
// applies: its rollout has reached the pod, or the pod has nothing to keep.
func (s *Scope) Chooses() bool {
	return s.Granted || len(s.Published) == 0 && s.find(serves) == nil
}

// containers returns the running containers that the exporter lists, or all.
func (s *Scope) containers() []container {
	named := s.Exporter.Spec.Containers
	if s.keepsAll() {
		named = nil
	}
	return slices.DeleteFunc(running(s.Pod), func(c container) bool {
		return len(named) > 0 && !slices.Contains(named, v1alpha1.ContainerName(c.name))
	})
}

// ContainerStatuses returns the statuses of the pod's containers, init containers last.
func ContainerStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
}

// running returns the running containers in the order of the spec, sidecars (restartable
// init containers) last.
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

// ReadySince returns the time when the pod became ready; zero if it is not ready.
func ReadySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// kubeletUID returns the UID under which the kubelet runs the pod, and which names its
// directories. For a static pod, the API server has a mirror pod with a different UID
// and an annotation with the kubelet's; only the kubelet sets it, and it never changes.
// A value that is not a UID would reach the container as a different request.
func kubeletUID(pod *corev1.Pod) types.UID {
	const longest = 64
	uid := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if uid == "" || len(uid) > longest || strings.Trim(uid, "0123456789abcdefABCDEF-") != "" {
		return pod.UID
	}
	return types.UID(uid)
}

// Target returns the named container of the pod as a target for the helper.
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
