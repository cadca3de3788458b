package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LabelExporterUID is the label of a JmxAttachment, a Service and an
// EndpointSlice that names the exporter they belong to.
const LabelExporterUID = "banzaicloud.com/exporter-uid"

// JmxAttachment is the record of one pod's way to its metrics: the answer to
// "which pods, and why not". The operator creates it, the pod owns it. Deleting
// it by hand does no harm: it is made again from what is observed.
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
	// +kubebuilder:validation:XValidation:rule="self.pod == oldSelf.pod",message="the pod of a JmxAttachment never changes; delete it and the operator makes it again"
	Spec JmxAttachmentSpec `json:"spec"`
	// status is how far the pod has come.
	// +optional
	Status JmxAttachmentStatus `json:"status,omitempty"`
}

// JmxAttachmentSpec says which pod, for which exporter, and how far it may go.
type JmxAttachmentSpec struct {
	// pod is the pod, in the same namespace.
	// +required
	Pod ObjectIdentity `json:"pod"`
	// exporter is the PrometheusJmxExporter that owns the pod. When the pod
	// comes to another one, so does the record, with all that is in it.
	// +required
	Exporter ObjectIdentity `json:"exporter"`
	// revision is the exporter's status.revision that this pod may be brought
	// to: its turn has come. What another one would change waits.
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

// JmxAttachmentStatus is what was found and done in the pod.
type JmxAttachmentStatus struct {
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

	// revision is the spec's revision that the record was last worked on with.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// inspected is what was looked into to find the processes; absent in a new
	// record.
	// +optional
	Inspected *Inspected `json:"inspected,omitempty"`

	// processes are the Java processes found, the first to be attached to first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Processes []JavaProcess `json:"processes,omitempty"`

	// restart is a container that ended soon after an attach.
	// +optional
	Restart *Restart `json:"restart,omitempty"`

	// restores counts how often our annotations were put back on the pod.
	// +optional
	Restores *Restores `json:"restores,omitempty"`

	// detachTimeout is the exporter's spec.detach.timeout: it counts once the
	// exporter is gone.
	// +optional
	DetachTimeout metav1.Duration `json:"detachTimeout,omitzero"`

	// detachStartTime is when taking out began.
	// +optional
	DetachStartTime *metav1.Time `json:"detachStartTime,omitempty"`

	// attempt counts what was tried for the condition that does not hold.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
}

// Inspected is what was looked into.
type Inspected struct {
	// containerIDs are the containers, as the kubelet reports them; none when all
	// are to be looked into again.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	ContainerIDs []string `json:"containerIDs,omitempty"`
	// time is when. A pod that becomes ready after it is looked into again: a
	// JVM may have started late, or been replaced.
	// +required
	Time metav1.Time `json:"time"`
	// rules is the digest of the exporter's spec.containers and spec.processes.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Rules string `json:"rules,omitempty"`
	// incomplete tells that a process or a container was left alone for what may
	// pass by itself: it is tried again.
	// +optional
	Incomplete bool `json:"incomplete,omitempty"`
}

// Restart is a container that ended soon after an attach.
type Restart struct {
	// revision is that of the attach.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// container is the container's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`
	// message says how it ended.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
}

// Restores counts how often our annotations were put back on the pod.
type Restores struct {
	// count is how often.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// lastTime is when they were put back last.
	// +required
	LastTime metav1.Time `json:"lastTime"`
}

// Attempt counts what was tried for the condition that does not hold.
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
	// nextTime is when it will be tried again without an event; absent when
	// only an event helps.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
}

// JmxAttachmentList is a list of JmxAttachments.
//
// +kubebuilder:object:root=true
type JmxAttachmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JmxAttachment `json:"items"`
}
