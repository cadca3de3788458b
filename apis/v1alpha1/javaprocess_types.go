package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JavaProcess is a Java process in a container of the pod.
type JavaProcess struct {
	// container is the container's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`
	// containerID is the container's ID as the kubelet reports it.
	// +required
	// +kubebuilder:validation:MaxLength=256
	ContainerID string `json:"containerID"`
	// pid is the process ID in the container.
	// +required
	// +kubebuilder:validation:Minimum=1
	PID int32 `json:"pid"`
	// startTime is in clock ticks since the node booted.
	// +required
	StartTime int64 `json:"startTime"`
	// uid is the effective user ID in the container.
	// +optional
	UID int64 `json:"uid"`
	// gid is the effective group ID in the container.
	// +optional
	GID int64 `json:"gid"`
	// vm is HotSpot or OpenJ9.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	VM string `json:"vm,omitempty"`
	// vendor of the Java runtime.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Vendor string `json:"vendor,omitempty"`
	// version of the Java runtime.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// mainClass is the main class, or the name of the jar or module run.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	MainClass string `json:"mainClass,omitempty"`
	// phase is the last one that holds for this process: Discovered while it
	// cannot be attached to, JavaFound when it can, then Staged, Loaded and
	// Exposed. Each process of a pod has its own.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// reason is why the next phase does not hold; empty when the process is Exposed,
	// or nothing was tried yet.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message is the sentence to that reason.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// attempt counts the attempts at the next phase.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
	// excluded reports that the exporter's spec.processes or spec.containers exclude
	// this process. An agent of ours in it is stopped.
	// +optional
	Excluded bool `json:"excluded,omitempty"`
	// port is the TCP port that the agent in it serves.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// configSHA256 is the digest of the configuration that the agent serves.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ConfigSHA256 string `json:"configSHA256,omitempty"`
	// securitySHA256 is the digest of the security that the agent serves with; empty when
	// it serves in the clear.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// certificateSHA256 is the digest of the certificate, in DER, that the agent serves
	// with: an endpoint with another one is of a foreign process.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CertificateSHA256 string `json:"certificateSHA256,omitempty"`
	// implementationSHA256 is the digest of the agent's implementation.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImplementationSHA256 string `json:"implementationSHA256,omitempty"`
	// agentVersion is the version of the agent in it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AgentVersion string `json:"agentVersion,omitempty"`
	// identity is the value that the agent in it puts into the header
	// Jmx-Exporter-Identity of /-/healthy: an answer without it comes from a foreign
	// process. Empty when the agent is not known to have one.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Identity string `json:"identity,omitempty"`
	// primary reports that this is the primary JVM of the pod: the agent in it
	// serves the exporter's spec.port, if there is one, and the pod's annotations
	// name its endpoint.
	// +optional
	Primary bool `json:"primary,omitempty"`
	// adopted reports that the stock exporter is in it, and is kept as it is.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// agentFound reports that an agent of ours was found in it.
	// +optional
	AgentFound bool `json:"agentFound,omitempty"`
	// freeMemory is what was free below the memory limit of its container when it was
	// inspected last, rounded down to a multiple of 8Mi; absent without a limit that
	// can be seen.
	// +optional
	FreeMemory *resource.Quantity `json:"freeMemory,omitempty"`
	// loadWarns reports that a load makes the JVM write the warning lines of JEP 451 to
	// the application's standard error.
	// +optional
	LoadWarns bool `json:"loadWarns,omitempty"`
	// warning is what the application's output shows because of the load.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Warning string `json:"warning,omitempty"`
	// staged names the files in its container.
	// +optional
	Staged *StagedFiles `json:"staged,omitempty"`
	// intent is the load that was begun, recorded before its effect.
	// +optional
	Intent *LoadIntent `json:"intent,omitempty"`
	// losses counts how often the agent was lost from it, and is to be brought back.
	// +optional
	Losses *Losses `json:"losses,omitempty"`
	// endpoint is its endpoint that answered last. It is kept while the phase goes
	// backwards: what is scraped follows the endpoint, not the phase.
	// +optional
	Endpoint *Endpoint `json:"endpoint,omitempty"`
}

// StagedFiles are the files in a container, by their digests.
type StagedFiles struct {
	// agentSHA256 is the digest of the jar that the JVM loads.
	// +required
	// +kubebuilder:validation:MaxLength=64
	AgentSHA256 string `json:"agentSHA256"`
	// implementationSHA256 is the digest of the jar behind it.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ImplementationSHA256 string `json:"implementationSHA256"`
	// configSHA256 is the digest of the configuration.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ConfigSHA256 string `json:"configSHA256"`
	// securitySHA256 is the digest of the endpoint's security; empty for one in the clear.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// certificateSHA256 is the digest of the certificate in that, in DER.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CertificateSHA256 string `json:"certificateSHA256,omitempty"`
}

// LoadIntent is a load that is about to happen, or has happened.
type LoadIntent struct {
	// port is the port asked for; 0 for one that is chosen in the pod.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// configSHA256 is the configuration asked for.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ConfigSHA256 string `json:"configSHA256"`
	// securitySHA256 is the endpoint's security asked for; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// implementationSHA256 is the agent's implementation asked for.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ImplementationSHA256 string `json:"implementationSHA256"`
	// time is when it began.
	// +required
	Time metav1.Time `json:"time"`
}

// Losses counts how often an agent was lost from a JVM that keeps running.
type Losses struct {
	// count is the number of times, none of them after twenty minutes in which the
	// endpoint was seen to answer.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// lastTime is when it was lost last.
	// +required
	LastTime metav1.Time `json:"lastTime"`
}

// CheckedFrom is where an endpoint was probed from.
//
// +kubebuilder:validation:Enum=Operator;Pod
type CheckedFrom string

const (
	// CheckedFromOperator: the operator reached the endpoint over the network.
	CheckedFromOperator CheckedFrom = "Operator"
	// CheckedFromPod: only the helper, in the pod, reached it.
	CheckedFromPod CheckedFrom = "Pod"
)

// Endpoint is an endpoint that answered.
type Endpoint struct {
	// address is the pod's IP address.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Address string `json:"address"`
	// port is the TCP port.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// tls reports that it speaks TLS.
	// +optional
	TLS bool `json:"tls,omitempty"`
	// checkedFrom is where it was probed from.
	// +required
	CheckedFrom CheckedFrom `json:"checkedFrom"`
	// silent reports that it stopped answering, though the JVM and the agent in it
	// are still there.
	// +optional
	Silent bool `json:"silent,omitempty"`
}
