package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LabelExporterUID is the label of a JmxAttachment, Service or EndpointSlice with the
// UID of its exporter.
const LabelExporterUID = "banzaicloud.com/exporter-uid"

// Labels of a Service that a ServiceMonitor can select before the exporter exists.
const (
	// LabelExporter is the exporter's name, cut to the 63 characters that a label can
	// hold.
	LabelExporter = "banzaicloud.com/exporter"
	// LabelManagedBy is the common label, with the value ManagedBy.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	ManagedBy      = "jmx-exporter-operator"
)

// JmxAttachment records the progress of the operator in one pod, and why it does not get
// further. The operator creates it, and the pod owns it. Deleting it by hand is safe:
// the operator recreates it from what it observes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jmxattachments,shortName=jmxa,categories=monitoring
// +kubebuilder:printcolumn:name="Pod",type=string,JSONPath=`.spec.pod.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="The last phase that holds"
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.status.processes[0].port`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,description="Reason of the first condition that does not hold"
// +kubebuilder:printcolumn:name="Container",type=string,priority=1,JSONPath=`.status.processes[0].container`
// +kubebuilder:printcolumn:name="JVM",type=string,priority=1,JSONPath=`.status.processes[0].version`
// +kubebuilder:printcolumn:name="Agent-Loading",type=string,priority=1,JSONPath=`.status.agentLoading`,description="Whether a JVM warns when an agent is loaded, now or after an upgrade of Java"
// +kubebuilder:printcolumn:name="Node",type=string,priority=1,JSONPath=`.status.nodeName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type JmxAttachment struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec identifies the pod and its exporter, and what the rollout has granted.
	// +required
	// +kubebuilder:validation:XValidation:rule="self.pod == oldSelf.pod",message="pod is immutable; delete the JmxAttachment and the operator recreates it"
	Spec JmxAttachmentSpec `json:"spec"`
	// status is the observed state of the pod.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status JmxAttachmentStatus `json:"status,omitempty"`
}

// JmxAttachmentSpec identifies the pod and its exporter, and what the rollout has
// granted.
type JmxAttachmentSpec struct {
	// pod is the pod, in the same namespace.
	// +required
	Pod ObjectIdentity `json:"pod"`
	// exporter is the PrometheusJmxExporter that owns the pod. If another exporter takes
	// over the pod, it takes over the record unchanged. It is absent if exporter and
	// record were both deleted: the operator recreates the record to detach from the
	// pod.
	// +optional
	Exporter ObjectIdentity `json:"exporter,omitzero"`
	// revision is the exporter's status.revision that the rollout granted to this pod.
	// Changes of other revisions wait.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`
}

// ObjectIdentity identifies one object, but not a later one of the same name.
type ObjectIdentity struct {
	// name is the name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid is the UID of the object.
	// +required
	UID types.UID `json:"uid"`
}

// JmxAttachmentStatus is the observed state of a pod.
type JmxAttachmentStatus struct {
	// observedGeneration is the generation of the spec that this status reflects; -1 in
	// a record that the operator has not processed yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is the last phase that holds. All phases before it hold, too.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// reason is the reason of the first condition that does not hold; empty if all hold.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// conditions are the six phases and Ready, which are always present, and
	// ScrapeIncomplete and ScrapeExpensive while they are True.
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
	// when this record was last reconciled. Failures from before it changed do not halt
	// the rollout.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Resume string `json:"resume,omitempty"`

	// containers are the containers that were or will be inspected for Java processes;
	// empty in a new record.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Containers []InspectedContainer `json:"containers,omitempty"`

	// processes are the Java processes found, the primary one first. Each goes through
	// Staged, Loaded and Exposed independently.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Processes []JavaProcess `json:"processes,omitempty"`

	// agentLoading is the most severe agentLoading of the processes: Denied, Warns,
	// WarnsAfterUpgrade or Allowed, in this order; empty if none is known.
	// +optional
	AgentLoading AgentLoading `json:"agentLoading,omitempty"`

	// restart is a container that exited soon after an attach or a change.
	// +optional
	Restart *Restart `json:"restart,omitempty"`

	// restores counts how often the operator restored its annotations on the pod.
	// +optional
	Restores *Restores `json:"restores,omitempty"`

	// detachTimeout is the exporter's spec.detach.timeout, for use after the exporter is
	// deleted.
	// +optional
	DetachTimeout metav1.Duration `json:"detachTimeout,omitzero"`

	// detachStartTime is the time when the operator began to detach.
	// +optional
	DetachStartTime *metav1.Time `json:"detachStartTime,omitempty"`

	// attempt counts the attempts to reach the condition that does not hold.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
}

// InspectedContainer is a container that was inspected for Java processes, or that
// cannot be inspected.
type InspectedContainer struct {
	// name is the name of the container.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// containerID is the container's ID as the kubelet reports it.
	// +required
	// +kubebuilder:validation:MaxLength=256
	ContainerID string `json:"containerID"`
	// time is the time of the last inspection of the container, or of its previous
	// instance; absent if there was none. The container is inspected again when the pod
	// becomes ready for the first time after it, because a JVM may have started late.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// ready reports whether the pod was ready at the last inspection. If it becomes
	// ready again, it is not inspected again as long as health checks reach its
	// endpoints, because they detect a replaced JVM.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// transport is how the operator reaches the container; absent for Exec, unless that
	// was asked for or took the place of another transport.
	// +optional
	Transport Transport `json:"transport,omitempty"`
	// transportReason is why Auto chose this transport and not the one that it prefers:
	// the reason why that could not reach the container.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TransportReason string `json:"transportReason,omitempty"`
	// nodeAgentUID is the UID of the pod of the node agent that transportReason is about, if
	// it refused the container, or failed repeatedly. A node agent that refused is not asked
	// again about this instance of the container; the next one on the node is.
	// +optional
	NodeAgentUID types.UID `json:"nodeAgentUID,omitempty"`
	// reachedByExec reports whether exec has led to an agent in this instance of the
	// container, although another transport is used now, or was before. No ephemeral
	// container is added to reach that agent.
	// +optional
	ReachedByExec bool `json:"reachedByExec,omitempty"`
	// user is the user that the JVM was found to run as, <uid>:<gid>, if the ephemeral
	// container first ran as a different one.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	User string `json:"user,omitempty"`
	// rules is a digest of the exporter's fields that select processes.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Rules string `json:"rules,omitempty"`
	// provenRevision is the revision with which an instance of the container served for
	// ten minutes after an attach or a change. While the rollout of that revision is
	// paused or halted, the operator attaches to a new instance nevertheless, unless
	// status.restart names the container.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ProvenRevision string `json:"provenRevision,omitempty"`
	// unseenPorts are the ports of published endpoints that may be in the container: this
	// record replaces one that was deleted, and the container is now protected
	// (PodProtected). They stay published until the container is inspected or restarts.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	UnseenPorts []int32 `json:"unseenPorts,omitempty"`
	// helperRemoved reports whether the inspection left nothing of the operator in the
	// container (spec.mode Preflight of the exporter).
	// +optional
	HelperRemoved bool `json:"helperRemoved,omitempty"`
	// reason is why the container could not be inspected; empty if it was.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message explains the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// attempt counts the failed inspections.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
}

// Restart is a container that exited soon after an attach or a change.
type Restart struct {
	// revision is the revision of the attach.
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
	// process is a digest of the identity of the process that exited.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Process string `json:"process,omitempty"`
	// time is when the operator saw the exit.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// count is the number of such exits with this revision.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count,omitempty"`
}

// Restores counts how often the operator restored its annotations on the pod.
type Restores struct {
	// count is the number of times within ten minutes of each other.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// lastTime is the time of the last restore.
	// +required
	LastTime metav1.Time `json:"lastTime"`
}

// JmxAttachmentList is a list of JmxAttachments.
//
// +kubebuilder:object:root=true
type JmxAttachmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []JmxAttachment `json:"items"`
}
