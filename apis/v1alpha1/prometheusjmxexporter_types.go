package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// PrometheusJmxExporter makes every Java process in the pods that it selects
// serve its MBeans to Prometheus, while it runs, without a restart, and keeps it
// so. Its JmxAttachments (kubectl get jmxa) report the state of each pod.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=prometheusjmxexporters,shortName=pjmx,categories=monitoring
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="The least advanced of the matched pods, refused ones aside"
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.pods`,description="Annotated of matched pods"
// +kubebuilder:printcolumn:name="Attachable",type=string,JSONPath=`.status.preflight.attachable`,description="Attachable of matched pods, in mode Preflight"
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refused`,description="Pods that need a person"
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.spec.port`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Updated",type=integer,priority=1,JSONPath=`.status.updated`,description="Pods brought to the current configuration, port and agent"
// +kubebuilder:printcolumn:name="Problems",type=integer,priority=1,JSONPath=`.status.problemPodCount`,description="Pods that have the labels and do not run, with spec.alerts.checkRunningPods"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PrometheusJmxExporter struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which pods, with which configuration, on which port.
	// +required
	Spec PrometheusJmxExporterSpec `json:"spec"`
	// status says how far the matched pods have come.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status PrometheusJmxExporterStatus `json:"status,omitempty"`
}

// PrometheusJmxExporterSpec says which pods, with which configuration, on which port.
type PrometheusJmxExporterSpec struct {
	// labelSelector selects running pods of this namespace: those that carry
	// all of these labels. It cannot be empty. A pod that two exporters select
	// belongs to the older one, and to one in mode Attach before one in mode
	// Preflight.
	//
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="a key is not a valid label key: an optional DNS subdomain and a slash, then up to 63 letters, digits, '-', '_' or '.'"
	LabelSelector map[string]LabelValue `json:"labelSelector"`

	// config names the exporter's configuration. A change of the ConfigMap
	// reaches every pod.
	// +required
	Config ConfigMapKey `json:"config"`

	// mode is what the exporter does with the pods. Attach attaches to them. Preflight
	// inspects them, reports in status.preflight whether they can be attached to, loads
	// nothing and leaves nothing in their containers; a pod that an exporter in mode
	// Attach selects, too, belongs to that one, whichever is older. Changed to Attach,
	// it continues from what was found. Changed to Preflight, it attaches and changes
	// nothing more; existing endpoints keep serving.
	// +optional
	// +kubebuilder:default=Attach
	Mode Mode `json:"mode,omitempty"`

	// port is the TCP port in the pod on which the primary JVM's /metrics is
	// served. It must be free in every matched pod. Left out, a free one is
	// chosen in each pod, from 9404 upward, as it is for all other JVMs.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// endpointSecurity has the agent serve /metrics over TLS. Left out, it is served in
	// the clear; taken out, it is again, without another load.
	// +optional
	EndpointSecurity *EndpointSecurity `json:"endpointSecurity,omitempty"`

	// containers names the containers to inspect; all of the pod if empty.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Containers []ContainerName `json:"containers,omitempty"`

	// processes are rules that choose among the Java processes found. The first
	// that matches decides; a process that none matches is included.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Processes []ProcessRule `json:"processes,omitempty"`

	// transport is how the operator reaches the containers. Exec runs its helper in
	// the container itself, which takes a shell there. EphemeralContainer adds an
	// ephemeral container beside it, which Kubernetes never removes from the pod's
	// spec. Auto takes the first where it works, else the second.
	//
	// +optional
	// +kubebuilder:default=Auto
	Transport Transport `json:"transport,omitempty"`

	// allowSharedTmp attaches also where other users may replace files in the
	// JVM's /tmp: it has no sticky bit, and processes of other users run beside
	// the JVM, or its volume is mounted in another container of the pod too.
	// Whoever can write there can then run code as the JVM's user at the moment
	// of the load. Left out, such a pod is refused with the reason TmpShared.
	// +optional
	AllowSharedTmp bool `json:"allowSharedTmp,omitempty"`

	// dynamicAgentLoading is what becomes of a JVM that writes four warning lines to
	// the application's standard error when an agent is loaded (JEP 451: Java 21 and
	// later, unless started with -XX:+EnableDynamicAgentLoading). Allow accepts the
	// lines, and the condition Loaded says so. RefuseOnWarning loads nothing into such
	// a JVM: it is refused with the reason AgentLoadingWarns. An agent that is in a
	// JVM already is kept.
	// +optional
	// +kubebuilder:default=Allow
	DynamicAgentLoading DynamicAgentLoading `json:"dynamicAgentLoading,omitempty"`

	// memoryHeadroom is how much memory must be free below the container's limit
	// before an agent is loaded into a JVM for the first time: what the agent takes
	// outside the Java heap, load and scrapes together, with a margin. With less, a
	// load may end in an OOM kill; the pod waits with reason InsufficientMemory. 0
	// turns the check off.
	//
	// +optional
	// +kubebuilder:default="96Mi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) == 0 || quantity(string(self)).compareTo(quantity('1Mi')) >= 0",message="must be 0 or at least 1Mi; 64m is a fraction of a byte"
	MemoryHeadroom *resource.Quantity `json:"memoryHeadroom,omitempty"`

	// suspend pauses the rollout: no pod is attached to, and no change of
	// configuration or agent is applied. Existing endpoints keep serving, and are
	// withdrawn when their JVM exits.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// rollout controls how first attachments and changes reach the pods.
	// +optional
	// +kubebuilder:default={}
	Rollout Rollout `json:"rollout,omitzero"`

	// detach controls how the operator detaches from pods.
	// +optional
	// +kubebuilder:default={}
	Detach Detach `json:"detach,omitzero"`

	// alerts configures the report of pods that have the labels and do not run.
	// +optional
	Alerts Alerts `json:"alerts,omitzero"`
}

// Transport is how the operator reaches a container.
//
// +kubebuilder:validation:Enum=Auto;Exec;EphemeralContainer
type Transport string

const (
	// TransportAuto is TransportExec where the container has a shell, else
	// TransportEphemeralContainer.
	TransportAuto Transport = "Auto"
	// TransportExec executes the helper in the container.
	TransportExec Transport = "Exec"
	// TransportEphemeralContainer executes the helper in an ephemeral container beside
	// it.
	TransportEphemeralContainer Transport = "EphemeralContainer"
)

// LabelValue is the value of a label: empty, or letters, digits, '-', '_' and
// '.', the first and the last a letter or digit.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue string

// DynamicAgentLoading is what becomes of a JVM that warns of an agent that is loaded.
//
// +kubebuilder:validation:Enum=Allow;RefuseOnWarning
type DynamicAgentLoading string

const (
	// DynamicAgentLoadingAllow accepts the warning.
	DynamicAgentLoadingAllow DynamicAgentLoading = "Allow"
	// DynamicAgentLoadingRefuseOnWarning loads nothing where the JVM would warn.
	DynamicAgentLoadingRefuseOnWarning DynamicAgentLoading = "RefuseOnWarning"
)

// ConfigMapKey names a key of a ConfigMap in the same namespace.
type ConfigMapKey struct {
	// configMapName is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
	// configMapKey is the key that holds the exporter's configuration (YAML, at
	// most 256 KiB).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapKey string `json:"configMapKey"`
}

// Selector is labelSelector as a selector. Empty, which the API refuses, it
// selects nothing.
func (s *PrometheusJmxExporterSpec) Selector() labels.Selector {
	if len(s.LabelSelector) == 0 {
		return labels.Nothing()
	}
	set := labels.Set{}
	for key, value := range s.LabelSelector {
		set[key] = string(value)
	}
	return labels.SelectorFromSet(set)
}

// PrometheusJmxExporterList is a list of PrometheusJmxExporters.
//
// +kubebuilder:object:root=true
type PrometheusJmxExporterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PrometheusJmxExporter `json:"items"`
}
