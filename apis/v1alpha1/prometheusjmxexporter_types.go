package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// PrometheusJmxExporter makes every Java process in the pods that it selects
// serve its MBeans to Prometheus, while it runs, without a restart, and keeps
// it so. The JmxAttachments (kubectl get jmxa) tell it pod by pod.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=prometheusjmxexporters,shortName=pjmx,categories=monitoring
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="The least advanced of the matched pods, refused ones aside"
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.pods`,description="Annotated of matched pods"
// +kubebuilder:printcolumn:name="Refused",type=integer,JSONPath=`.status.refused`,description="Pods that need a person"
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.spec.port`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Updated",type=integer,priority=1,JSONPath=`.status.updated`,description="Pods brought to the current configuration, port and agent"
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
	Status PrometheusJmxExporterStatus `json:"status,omitempty"`
}

// PrometheusJmxExporterSpec says which pods, with which configuration, on which port.
type PrometheusJmxExporterSpec struct {
	// labelSelector selects running pods of this namespace: those that carry
	// all of these labels. It cannot be empty. A pod that two exporters select
	// belongs to the older one.
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

	// port is the TCP port in the pod on which the first JVM's /metrics is
	// served. It must be free in every matched pod. Left out, a free one is
	// chosen in each pod, from 9404 upwards, as it is for all JVMs but the first.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// containers names the containers to look into; all of the pod if empty.
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

	// suspend stops all that is new: no pod is attached to, and no change of
	// configuration or agent goes out. What is there stays, and is withdrawn
	// where its JVM ends.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// rollout says in which steps first attachments and changes go out.
	// +optional
	// +kubebuilder:default={}
	Rollout Rollout `json:"rollout,omitzero"`

	// detach says how pods are taken out.
	// +optional
	// +kubebuilder:default={}
	Detach Detach `json:"detach,omitzero"`

	// alerts says whether to tell about pods that have the labels and do not run.
	// +optional
	Alerts Alerts `json:"alerts,omitzero"`
}

// Alerts says whether to tell about pods that have the labels and do not run.
type Alerts struct {
	// checkRunningPods lists in status.problemPods the pods that have the
	// labels and do not run as they should: pending, crashing, without their
	// image, failed. They need not run Java.
	// +optional
	CheckRunningPods bool `json:"checkRunningPods,omitempty"`
	// logLines is how many of the last lines of a failing container's log are
	// added, and of the instance before it. Logs may hold secrets: none by
	// default, and the operator needs the right to read pods/log for it
	// (config/logs).
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=50
	LogLines int32 `json:"logLines,omitempty"`
}

// LabelValue is the value of a label: empty, or letters, digits, '-', '_' and
// '.', the first and the last a letter or digit.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue string

// ConfigMapKey names a key of a ConfigMap in the same namespace.
type ConfigMapKey struct {
	// configMapName is the name of the ConfigMap.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
	// configMapKey is the key under which the exporter's configuration (YAML,
	// at most 256 KiB) stands.
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

// PrometheusJmxExporterStatus sums up the JmxAttachments of the exporter.
type PrometheusJmxExporterStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is that of the least advanced of the matched pods, refused ones
	// aside: Pending when none is matched, Refused when all are.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// pods is annotated/matched, such as 3/5.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Pods string `json:"pods,omitempty"`

	// matched counts the pods that have the labels, run, and are not terminating.
	// +optional
	Matched int32 `json:"matched"`

	// updated counts the matched pods that were brought to the current
	// configuration, port and agent, or could not be.
	// +optional
	Updated int32 `json:"updated"`

	// refused counts the matched pods that need a person.
	// +optional
	Refused int32 `json:"refused"`

	// phases counts the matched pods by the phase they are in.
	// +optional
	// +listType=map
	// +listMapKey=phase
	// +kubebuilder:validation:MaxItems=8
	Phases []PhaseCount `json:"phases,omitempty"`

	// metricsEndpoints lists the endpoints that answer and stand in an
	// EndpointSlice, one for each JVM, sorted by pod: the first 1000. The
	// EndpointSlices of the Service named in serviceName hold all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	MetricsEndpoints []MetricsEndpoint `json:"metricsEndpoints,omitempty"`

	// metricsEndpointsOmitted says how many more there are.
	// +optional
	MetricsEndpointsOmitted int32 `json:"metricsEndpointsOmitted,omitempty"`

	// serviceName is the headless Service whose EndpointSlices hold the endpoints.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ServiceName string `json:"serviceName,omitempty"`

	// revision names what the pods are to be brought to: configuration, port,
	// containers, processes, agent. It is a digest.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// halt says why the rollout of this revision was stopped.
	// +optional
	Halt *Halt `json:"halt,omitempty"`

	// problemPods are the pods that have the labels and do not run, sorted by
	// name: the first 50. Only with spec.alerts.checkRunningPods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	ProblemPods []ProblemPod `json:"problemPods,omitempty"`

	// problemPodsOmitted says how many more there are.
	// +optional
	ProblemPodsOmitted int32 `json:"problemPodsOmitted,omitempty"`

	// conditions are Ready, Reconciling, Stalled and ConfigValid.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PhaseCount counts the pods in a phase.
type PhaseCount struct {
	// phase is the phase counted.
	// +required
	Phase Phase `json:"phase"`
	// count is the number of pods in it.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`
}

// Halt says why a rollout was stopped.
type Halt struct {
	// revision is what was being rolled out.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// reason is RestartedAfterAttach or ConfigRejected.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message says in which pod, what happened, and how to go on.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message"`
}

// ProblemPod is a pod that does not run as it should.
type ProblemPod struct {
	// pod is the pod's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// uid is the pod's UID.
	// +required
	UID types.UID `json:"uid"`
	// container is the container that keeps it from running; empty if it is
	// the pod as a whole.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// reason is the kubelet's, the scheduler's or the pod's own, such as
	// CrashLoopBackOff, ImagePullBackOff, Unschedulable or Evicted.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message is what they say of it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// restartCount is how often the container was restarted.
	// +optional
	RestartCount int32 `json:"restartCount"`
	// log are the last lines of the container's log.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Log string `json:"log,omitempty"`
	// previousLog are the last lines of the log of the instance before it.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	PreviousLog string `json:"previousLog,omitempty"`
}

// MetricsEndpoint is where a JVM serves its metrics.
type MetricsEndpoint struct {
	// pod is the pod's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// container is the name of the container that the JVM runs in.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// port is the TCP port on the pod's address.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// PrometheusJmxExporterList is a list of PrometheusJmxExporters.
//
// +kubebuilder:object:root=true
type PrometheusJmxExporterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PrometheusJmxExporter `json:"items"`
}
