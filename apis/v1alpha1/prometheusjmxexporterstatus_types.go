package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PrometheusJmxExporterStatus summarizes the JmxAttachments of the exporter.
type PrometheusJmxExporterStatus struct {
	// observedGeneration is the generation of the spec that this status reflects; -1 in
	// an exporter that no operator has processed yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is the phase of the least advanced matched pod, refused ones aside: Pending
	// if no pod is matched, Refused if all are refused.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// pods is the number of Annotated pods of the matched ones, such as 3/5.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Pods string `json:"pods,omitempty"`

	// matched counts the selected pods that run and are not terminating.
	// +optional
	Matched int32 `json:"matched"`

	// updated counts the matched pods that have the current configuration, port and
	// agent, or that cannot be updated until something outside the rollout changes.
	// +optional
	Updated int32 `json:"updated"`

	// refused counts the matched pods that need manual action.
	// +optional
	Refused int32 `json:"refused"`

	// phases counts the matched pods by phase.
	// +optional
	// +listType=map
	// +listMapKey=phase
	// +kubebuilder:validation:MaxItems=8
	Phases []PhaseCount `json:"phases,omitempty"`

	// metricsEndpoints lists the endpoints that answer and are in an EndpointSlice, one
	// per JVM, sorted by pod, up to 1000. The EndpointSlices of the Service serviceName
	// list all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	MetricsEndpoints []MetricsEndpoint `json:"metricsEndpoints,omitempty"`

	// metricsEndpointsOmitted counts the endpoints that are not listed.
	// +optional
	MetricsEndpointsOmitted int32 `json:"metricsEndpointsOmitted,omitempty"`

	// serviceName is the headless Service whose EndpointSlices list the endpoints.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ServiceName string `json:"serviceName,omitempty"`

	// revision is a digest of what is rolled out: configuration, port, containers,
	// processes, agent, and the exporter itself.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision,omitempty"`

	// halt is why the rollout is halted.
	// +optional
	Halt *Halt `json:"halt,omitempty"`

	// restarts are the pods in which a container exited within
	// spec.rollout.restartWindow after an attach or a change; absent if there are none.
	// +optional
	Restarts *Restarts `json:"restarts,omitempty"`

	// certificateNotAfter is when the certificate in the Secret of spec.endpointSecurity
	// expires; while that Secret cannot be used, when the last one expires that could.
	// +optional
	CertificateNotAfter *metav1.Time `json:"certificateNotAfter,omitempty"`

	// preflight is what was found in the pods; only in mode Preflight.
	// +optional
	Preflight *Preflight `json:"preflight,omitempty"`

	// atNextStart is what is known of the containers to which spec.atNextStart applies;
	// absent if that is empty, or nothing is known.
	// +optional
	AtNextStart *NextStartStatus `json:"atNextStart,omitempty"`

	// problemPodCount counts the selected pods that do not run. Only with
	// spec.alerts.checkRunningPods.
	// +optional
	ProblemPodCount int32 `json:"problemPodCount,omitempty"`

	// problemPods are the selected pods that do not run, sorted by name,
	// with one entry per failing container in start order, up to 50 entries. Only with
	// spec.alerts.checkRunningPods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	ProblemPods []ProblemPod `json:"problemPods,omitempty"`

	// problemPodsOmitted counts the pods without an entry.
	// +optional
	ProblemPodsOmitted int32 `json:"problemPodsOmitted,omitempty"`

	// conditions are Ready, Reconciling, Stalled and ConfigValid, PreflightComplete in
	// mode Preflight, and ScrapeIncomplete and ScrapeExpensive while they are True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PhaseCount counts the pods in a phase.
type PhaseCount struct {
	// phase is the phase.
	// +required
	Phase Phase `json:"phase"`
	// count is the number of pods in that phase.
	// +required
	// +kubebuilder:validation:Minimum=0
	Count int32 `json:"count"`
}

// Halt is why a rollout is halted.
type Halt struct {
	// revision is the revision whose rollout is halted.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// resume is a digest of the exporter's annotation banzaicloud.com/resume-rollout
	// when the rollout was halted: a change of the annotation resumes it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Resume string `json:"resume,omitempty"`
	// reason is RestartedAfterAttach, ConfigRejected, SecurityRejected, RuleTooExpensive or
	// CollectionTooLarge.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// message names the pod, and says what happened and how to resume.
	// +required
	// +kubebuilder:validation:MaxLength=2048
	Message string `json:"message"`
}

// Restarts are the pods whose exits pause the rollout, or count towards its halt.
type Restarts struct {
	// revision is the revision with which the pods were attached to or changed.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Revision string `json:"revision"`
	// resume is a digest of the exporter's annotation banzaicloud.com/resume-rollout at
	// that time: a change of the annotation ends the pause, and counts anew.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Resume string `json:"resume,omitempty"`
	// paused reports whether the rollout is paused: the last exit is less than
	// spec.rollout.restartWindow ago.
	// +optional
	Paused bool `json:"paused,omitempty"`
	// message names the last pod, and says how its container exited.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// pods are the pods, in the order of their exits. One is dropped a day later, or, if
	// its exit only pauses, at the end of the pause.
	// +required
	// +listType=map
	// +listMapKey=uid
	// +kubebuilder:validation:MaxItems=100
	Pods []RestartedPod `json:"pods"`
}

// RestartedPod is a pod in which a container exited soon after an attach or a change.
type RestartedPod struct {
	// name is the name of the pod.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid is the UID of the pod.
	// +required
	UID types.UID `json:"uid"`
	// time is when the operator last saw an exit in the pod.
	// +required
	Time metav1.Time `json:"time"`
	// process is a digest of the identity of the process that exited last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Process string `json:"process,omitempty"`
	// pending reports whether the pod may be ending as a whole, for example by an
	// eviction, which explains the exit. Until that is known, the exit pauses the rollout,
	// but does not count.
	// +optional
	Pending bool `json:"pending,omitempty"`
	// pauseOnly reports whether the exit pauses the rollout, but does not count: an
	// earlier instance of the container had proven the revision, the pod was evicted
	// because its node lacked a resource, or it retries a failed pod of its Job.
	// +optional
	PauseOnly bool `json:"pauseOnly,omitempty"`
}

// MetricsEndpoint is the metrics endpoint of a JVM.
type MetricsEndpoint struct {
	// pod is the pod's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// container is the name of the JVM's container.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container,omitempty"`
	// port is the TCP port on the pod's address.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}
