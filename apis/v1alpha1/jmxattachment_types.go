package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LabelExporterUID is the label of a JmxAttachment, a Service and an
// EndpointSlice that names the exporter they belong to.
const LabelExporterUID = "banzaicloud.com/exporter-uid"

// Labels of a Service by which a ServiceMonitor that is written beforehand selects it.
const (
	// LabelExporter is the exporter's name, of which a label holds 63 characters.
	LabelExporter = "banzaicloud.com/exporter"
	// LabelManagedBy is the usual label, with the value ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "jmx-exporter-operator"
)

// JmxAttachment records how far the operator has come with one pod: the answer to
// "which pods, and why not". The operator creates it, the pod owns it. Deleting it
// by hand does no harm: the operator recreates it from what it observes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jmxattachments,shortName=jmxa,categories=monitoring
// +kubebuilder:printcolumn:name="Pod",type=string,JSONPath=`.spec.pod.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="The last phase that holds"
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.status.processes[0].port`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,description="Of the first condition that does not hold"
// +kubebuilder:printcolumn:name="Container",type=string,priority=1,JSONPath=`.status.processes[0].container`
// +kubebuilder:printcolumn:name="JVM",type=string,priority=1,JSONPath=`.status.processes[0].version`
// +kubebuilder:printcolumn:name="Node",type=string,priority=1,JSONPath=`.status.nodeName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type JmxAttachment struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which pod, for which exporter, and how far it may go.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.pod == oldSelf.pod",message="the pod of a JmxAttachment never changes; delete it and the operator recreates it"
	Spec JmxAttachmentSpec `json:"spec"`
	// status is how far the pod has come.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status JmxAttachmentStatus `json:"status,omitempty"`
}

// JmxAttachmentSpec says which pod, for which exporter, and how far it may go.
type JmxAttachmentSpec struct {
	// pod is the pod, in the same namespace.
	// +required
	Pod ObjectIdentity `json:"pod"`
	// exporter is the PrometheusJmxExporter that owns the pod. When the pod
	// passes to another one, so does the record, with all that is in it. It is
	// absent when exporter and record were both deleted: the operator recreates
	// the record to detach from the pod.
	// +optional
	Exporter ObjectIdentity `json:"exporter,omitzero"`
	// revision is the exporter's status.revision that the rollout granted to this
	// pod. What another revision would change waits.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
}

// ObjectIdentity names one object and no later one of the same name.
type ObjectIdentity struct {
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid of the object.
	// +required
	UID types.UID `json:"uid"`
}

// JmxAttachmentStatus is what the operator found and did in the pod.
type JmxAttachmentStatus struct {
	// observedGeneration is the generation of the spec that this status is about; -1
	// in a record that the operator has not begun with.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is the last phase that holds, with all before it.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// reason is that of the first condition that does not hold; empty when
	// all hold.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// conditions are the six phases and Ready, always all of them.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodeName is the node that the pod runs on.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// revision is the spec.revision that the pod was last updated to.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// resume is a digest of the exporter's annotation banzaicloud.com/resume-rollout
	// as the record saw it last. What failed before it changed halts nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Resume string `json:"resume,omitempty"`

	// containers are the containers that were inspected for Java processes, or are
	// to be; empty in a new record.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Containers []InspectedContainer `json:"containers,omitempty"`

	// processes are the Java processes found, the primary one first. Each walks
	// Staged, Loaded and Exposed by itself.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Processes []JavaProcess `json:"processes,omitempty"`

	// restart is a container that exited soon after an attach.
	// +optional
	Restart *Restart `json:"restart,omitempty"`

	// restores counts how often the operator restored its annotations on the pod.
	// +optional
	Restores *Restores `json:"restores,omitempty"`

	// detachTimeout is the exporter's spec.detach.timeout, kept for when the
	// exporter is gone.
	// +optional
	DetachTimeout metav1.Duration `json:"detachTimeout,omitzero"`

	// detachStartTime is when the operator began to detach.
	// +optional
	DetachStartTime *metav1.Time `json:"detachStartTime,omitempty"`

	// attempt counts the attempts at the condition that does not hold.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
}

// InspectedContainer is a container that was inspected for Java processes, or that
// cannot be.
type InspectedContainer struct {
	// name of the container.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// containerID is the container's ID as the kubelet reports it.
	// +required
	// +kubebuilder:validation:MaxLength=256
	ContainerID string `json:"containerID"`
	// time is when it, or the container before it of the same name, was inspected
	// last; absent when it never was. A pod that becomes ready after it for the first
	// time is inspected again: a JVM may have started late.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// ready reports that the pod was ready when it was inspected last. Such a pod is
	// not inspected again for becoming ready once more, as long as health checks
	// reach its endpoints: they notice a JVM that was replaced.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// transport is how the operator reaches the container; absent for Exec.
	// +optional
	Transport Transport `json:"transport,omitempty"`
	// transportReason is why it is EphemeralContainer although Auto was asked for: the
	// reason of the exec that failed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TransportReason string `json:"transportReason,omitempty"`
	// user is whom the JVM was found to run as, <uid>:<gid>, where the ephemeral
	// container first ran as another.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	User string `json:"user,omitempty"`
	// rules is the digest of the exporter's fields that choose processes.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Rules string `json:"rules,omitempty"`
	// helperRemoved reports that the inspection left nothing of the operator's in the
	// container (spec.mode Preflight of the exporter).
	// +optional
	HelperRemoved bool `json:"helperRemoved,omitempty"`
	// reason is why it could not be inspected; empty when it was.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message is the sentence to that reason.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// attempt counts the inspections that did not succeed.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
}

// Restart is a container that exited soon after an attach.
type Restart struct {
	// revision is that of the attach.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// container is the container's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`
	// message says how it exited.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
}

// Restores counts how often the operator restored its annotations on the pod.
type Restores struct {
	// count is the number of times within ten minutes of each other.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// lastTime is when they were restored last.
	// +required
	LastTime metav1.Time `json:"lastTime"`
}

// Attempt counts the attempts at a condition that does not hold.
type Attempt struct {
	// key names what the attempts were made with: the pod's containers, the
	// configuration, the exporter. When it changes, the count starts again.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Key string `json:"key"`
	// phase that the attempts were to reach.
	// +required
	Phase Phase `json:"phase"`
	// count of attempts that did not succeed.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// lastError is the last attempt's error.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastError string `json:"lastError,omitempty"`
	// nextTime is when the next attempt is due without an event; absent when only
	// an event triggers one.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
}

// Tries is the count of attempts; 0 when there was none.
func (a *Attempt) Tries() int32 {
	if a == nil {
		return 0
	}
	return a.Count
}

// JmxAttachmentList is a list of JmxAttachments.
//
// +kubebuilder:object:root=true
type JmxAttachmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JmxAttachment `json:"items"`
}
