package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PrometheusJmxExporter makes every Java process in the selected pods serve its MBeans
// to Prometheus, without a restart, and maintains that. Its JmxAttachments (kubectl get
// jmxa) report the state of each pod.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=prometheusjmxexporters,shortName=pjmx,categories=monitoring
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Phase of the least advanced matched pod, refused ones aside"
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.pods`,description="Annotated pods of the matched ones"
// +kubebuilder:printcolumn:name="Attachable",type=string,JSONPath=`.status.preflight.attachable`,description="Attachable pods of the matched ones, in mode Preflight"
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refused`,description="Pods that need manual action"
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.spec.port`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Updated",type=integer,priority=1,JSONPath=`.status.updated`,description="Pods with the current configuration, port and agent"
// +kubebuilder:printcolumn:name="Problems",type=integer,priority=1,JSONPath=`.status.problemPodCount`,description="Selected pods that do not run, with spec.alerts.checkRunningPods"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PrometheusJmxExporter struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state: which pods, which configuration, which port.
	// +required
	Spec PrometheusJmxExporterSpec `json:"spec"`
	// status is the observed state of the matched pods.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status PrometheusJmxExporterStatus `json:"status,omitempty"`
}

// PrometheusJmxExporterSpec is the desired state of an exporter: which pods, which
// configuration, which port.
//
// +kubebuilder:validation:XValidation:rule="has(self.labelSelector) != has(self.selector)",message="exactly one of labelSelector and selector is required"
type PrometheusJmxExporterSpec struct {
	// CEL's format.qualifiedName() and format.dns1123Subdomain() need Kubernetes 1.32.

	// labelSelector selects the running pods of this namespace that have all of these
	// labels. It must not be empty. A pod that two exporters select belongs to the older
	// one; an exporter in mode Attach takes precedence over one in mode Preflight. Either
	// labelSelector or selector is required.
	//
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.indexOf('/') <= 253 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="keys must be valid label keys: an optional DNS subdomain and a slash, then up to 63 letters, digits, '-', '_' or '.'"
	LabelSelector map[string]LabelValue `json:"labelSelector,omitempty"`

	// selector selects the running pods of this namespace by matchLabels and
	// matchExpressions, all of which must hold. Exactly one of selector and labelSelector
	// is required.
	// +optional
	Selector *PodSelector `json:"selector,omitempty"`

	// config refers to the exporter's configuration. Changes of the ConfigMap reach
	// every pod.
	// +required
	Config ConfigMapKey `json:"config"`

	// mode is what the exporter does with its pods. Attach attaches to them. Preflight
	// inspects them and reports in status.preflight whether they can be attached to; it
	// loads nothing and leaves nothing in their containers. A pod that an exporter in
	// mode Attach also selects belongs to that exporter, whichever is older. When
	// changed to Attach, the exporter continues with what was found. When changed to
	// Preflight, it attaches and changes nothing any more; existing endpoints keep
	// serving.
	// +optional
	// +kubebuilder:default=Attach
	Mode Mode `json:"mode,omitempty"`

	// port is the TCP port on which the pod's primary JVM serves /metrics. It must be
	// free in every matched pod. If omitted, a free port from 9404 upward is chosen in
	// each pod, as for all other JVMs.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// endpointSecurity serves /metrics over TLS. If omitted or removed, /metrics is
	// served over plain HTTP. Changing it does not load the agent again.
	// +optional
	EndpointSecurity *EndpointSecurity `json:"endpointSecurity,omitempty"`

	// containers lists the containers to inspect; all containers of the pod if empty.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Containers []ContainerName `json:"containers,omitempty"`

	// processes are rules that select Java processes. The first matching rule decides; a
	// process that matches no rule is included.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Processes []ProcessRule `json:"processes,omitempty"`

	// transport is how the operator reaches containers. Exec runs its helper in the
	// container itself, which needs a shell. EphemeralContainer runs it in an additional
	// ephemeral container, which Kubernetes never removes from the pod's spec. Node has
	// the operator's node agent run it on the node, which executes nothing in the pod; it
	// needs the component config/node. Auto uses Node where the pod's node has a node
	// agent that is ready, else Exec if it works, and EphemeralContainer otherwise.
	//
	// +optional
	// +kubebuilder:default=Auto
	Transport Transport `json:"transport,omitempty"`

	// allowSharedTmp allows attaching even if other users may replace files in the JVM's
	// /tmp: it has no sticky bit, and processes of other users run in the container, or
	// its volume is also mounted in another container of the pod. Anybody who can write
	// there can then run code as the JVM's user during the load. By default, such a pod
	// is refused with reason TmpShared.
	// +optional
	AllowSharedTmp bool `json:"allowSharedTmp,omitempty"`

	// dynamicAgentLoading decides about JVMs that write four warning lines to the
	// application's standard error when an agent is loaded (JEP 451: Java 21 and later,
	// unless started with -XX:+EnableDynamicAgentLoading). Allow accepts the lines, and
	// the condition Loaded reports them. RefuseOnWarning loads nothing into such a JVM,
	// which is refused with reason AgentLoadingWarns. An agent that is already in a JVM
	// is kept.
	// +optional
	// +kubebuilder:default=Allow
	DynamicAgentLoading DynamicAgentLoading `json:"dynamicAgentLoading,omitempty"`

	// atNextStart is what an admission policy, the component config/next-start, adds to
	// new pods that the exporter selects; nothing if empty. AllowAttach adds
	// -XX:+EnableDynamicAgentLoading to the variable JDK_JAVA_OPTIONS of their
	// containers, before a value that is there, so that loads write no warning lines
	// (JEP 451). status.atNextStart lists the containers that it adds the variable to,
	// and those that it skips. Pods that exist, and workloads, are not changed.
	// +optional
	AtNextStart NextStart `json:"atNextStart,omitempty"`

	// memoryHeadroom is the memory that must be free below the container's limit before
	// an agent is loaded into a JVM for the first time: what the agent uses outside the
	// Java heap for load and scrapes, plus a margin. With less, a load may end in an OOM
	// kill; the pod then waits with reason InsufficientMemory. 0 disables the check.
	//
	// +optional
	// +kubebuilder:default="96Mi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) == 0 || quantity(string(self)).compareTo(quantity('1Mi')) >= 0",message="must be 0 or at least 1Mi; 64m is a fraction of a byte"
	MemoryHeadroom *resource.Quantity `json:"memoryHeadroom,omitempty"`

	// suspend pauses the rollout: the operator attaches to no further pod, and applies
	// no change of configuration or agent. Existing endpoints keep serving, and are
	// withdrawn when their JVM exits.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// rollout controls how first attaches and changes reach the pods.
	// +optional
	// +kubebuilder:default={}
	Rollout Rollout `json:"rollout,omitzero"`

	// detach controls how the operator detaches from pods.
	// +optional
	// +kubebuilder:default={}
	Detach Detach `json:"detach,omitzero"`

	// alerts configures the report of selected pods that do not run.
	// +optional
	Alerts Alerts `json:"alerts,omitzero"`

	// Raw is the JSON of a spec that was decoded and has fields which this type does not have;
	// nil for others. It is not part of the API.
	Raw []byte `json:"-"`
}

// DynamicAgentLoading decides about JVMs that print a warning when an agent is loaded.
//
// +kubebuilder:validation:Enum=Allow;RefuseOnWarning
type DynamicAgentLoading string

const (
	// DynamicAgentLoadingAllow accepts the warning.
	DynamicAgentLoadingAllow DynamicAgentLoading = "Allow"
	// DynamicAgentLoadingRefuseOnWarning loads nothing into JVMs that would warn.
	DynamicAgentLoadingRefuseOnWarning DynamicAgentLoading = "RefuseOnWarning"
)

// ConfigMapKey refers to a key of a ConfigMap in the same namespace.
type ConfigMapKey struct {
	// configMapName is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
	// configMapKey is the key with the exporter's configuration (YAML, at most 256 KiB).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapKey string `json:"configMapKey"`
}

// PrometheusJmxExporterList is a list of PrometheusJmxExporters.
//
// +kubebuilder:object:root=true
type PrometheusJmxExporterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PrometheusJmxExporter `json:"items"`
}
