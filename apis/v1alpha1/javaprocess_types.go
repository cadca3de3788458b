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
	// startTime is the start time of the process, in clock ticks since the node booted.
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
	// vendor is the vendor of the Java runtime.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Vendor string `json:"vendor,omitempty"`
	// version is the version of the Java runtime.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// mainClass is the main class, or the name of the jar or module that is run.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	MainClass string `json:"mainClass,omitempty"`
	// phase is the last phase that holds for this process: Discovered if it cannot be
	// attached to, JavaFound if it can, then Staged, Loaded and Exposed. Each process of
	// a pod has its own phase.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// reason is why the next phase does not hold; empty if the process is Exposed, or if
	// nothing was tried yet.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message explains the reason.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// attempt counts the attempts to reach the next phase.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
	// excluded reports whether spec.processes or spec.containers of the exporter exclude
	// this process. The operator stops its agent in it.
	// +optional
	Excluded bool `json:"excluded,omitempty"`
	// port is the TCP port that the agent serves.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// configSHA256 is the digest of the configuration that the agent serves.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ConfigSHA256 string `json:"configSHA256,omitempty"`
	// securitySHA256 is the digest of the endpoint security settings that the agent
	// uses; empty for plain HTTP.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// certificateSHA256 is the digest of the certificate, in DER, that the agent serves
	// with. A different certificate means that a foreign process answers.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CertificateSHA256 string `json:"certificateSHA256,omitempty"`
	// implementationSHA256 is the digest of the agent's implementation.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ImplementationSHA256 string `json:"implementationSHA256,omitempty"`
	// agentVersion is the version of the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AgentVersion string `json:"agentVersion,omitempty"`
	// identity is the value that the agent returns in the header Jmx-Exporter-Identity
	// of /-/healthy. An answer without it comes from a foreign process. Empty if the
	// agent is not known to have an identity.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Identity string `json:"identity,omitempty"`
	// primary reports whether this is the primary JVM of the pod: its agent serves the
	// exporter's spec.port, if set, and the pod's annotations name its endpoint.
	// +optional
	Primary bool `json:"primary,omitempty"`
	// adopted reports whether the stock exporter is in the process and is kept as it is.
	// +optional
	Adopted bool `json:"adopted,omitempty"`
	// agentFound reports whether the operator's agent was found in the process.
	// +optional
	AgentFound bool `json:"agentFound,omitempty"`
	// freeMemory is the memory that was free below the container's limit at the last
	// inspection, rounded down to a multiple of 8Mi; absent if no limit is visible.
	// +optional
	FreeMemory *resource.Quantity `json:"freeMemory,omitempty"`
	// loadWarns reports whether a load makes the JVM write the warning lines of JEP 451
	// to the application's standard error.
	// +optional
	LoadWarns bool `json:"loadWarns,omitempty"`
	// agentLoading is what the JVM does when an agent is loaded, now and with later
	// versions of Java; empty if its options or its version are not known.
	// +optional
	AgentLoading AgentLoading `json:"agentLoading,omitempty"`
	// javaOptions reports whether the JVM's environment has the variable
	// JDK_JAVA_OPTIONS; empty if that is not known.
	// +optional
	JavaOptions JavaOptions `json:"javaOptions,omitempty"`
	// warning is what the load printed on the application's output.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Warning string `json:"warning,omitempty"`
	// notices is what the agent reports about its last collections; absent if there is
	// nothing to notice.
	// +optional
	Notices *ScrapeNotices `json:"notices,omitempty"`
	// staged has the digests of the files in the container.
	// +optional
	Staged *StagedFiles `json:"staged,omitempty"`
	// intent is the load that was begun, recorded before its effect.
	// +optional
	Intent *LoadIntent `json:"intent,omitempty"`
	// losses counts how often the agent was lost and must be loaded again.
	// +optional
	Losses *Losses `json:"losses,omitempty"`
	// endpoint is the endpoint that answered last. It is kept while the phase goes back:
	// scrapes follow the endpoint, not the phase.
	// +optional
	Endpoint *Endpoint `json:"endpoint,omitempty"`
}

// StagedFiles identifies the files in a container by their digests.
type StagedFiles struct {
	// agentSHA256 is the digest of the jar that the JVM loads.
	// +required
	// +kubebuilder:validation:MaxLength=64
	AgentSHA256 string `json:"agentSHA256"`
	// implementationSHA256 is the digest of the implementation jar.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ImplementationSHA256 string `json:"implementationSHA256"`
	// configSHA256 is the digest of the configuration.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ConfigSHA256 string `json:"configSHA256"`
	// securitySHA256 is the digest of the endpoint security settings; empty for plain HTTP.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// certificateSHA256 is the digest of their certificate, in DER.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CertificateSHA256 string `json:"certificateSHA256,omitempty"`
}

// LoadIntent is a load that was begun.
type LoadIntent struct {
	// port is the requested port; 0 for one that is chosen in the pod.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// configSHA256 is the requested configuration.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ConfigSHA256 string `json:"configSHA256"`
	// securitySHA256 is the requested endpoint security; empty for none.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// implementationSHA256 is the requested implementation of the agent.
	// +required
	// +kubebuilder:validation:MaxLength=64
	ImplementationSHA256 string `json:"implementationSHA256"`
	// resourcesSHA256 is a digest of the container's resources that cannot be resized
	// without restarting it (resizePolicy); empty if there are none. If they differ after
	// an exit, the resize was its cause.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ResourcesSHA256 string `json:"resourcesSHA256,omitempty"`
	// time is the time when the load began.
	// +required
	Time metav1.Time `json:"time"`
}

// Losses counts how often an agent was lost from a running JVM.
type Losses struct {
	// count is the number of losses. It restarts after the endpoint was seen to answer
	// for twenty minutes.
	// +required
	// +kubebuilder:validation:Minimum=1
	Count int32 `json:"count"`
	// lastTime is the time of the last loss.
	// +required
	LastTime metav1.Time `json:"lastTime"`
}

// CheckedFrom is the location from which an endpoint was probed.
//
// +kubebuilder:validation:Enum=Operator;Pod;Node
type CheckedFrom string

const (
	// CheckedFromOperator: the operator reached the endpoint over the network.
	CheckedFromOperator CheckedFrom = "Operator"
	// CheckedFromPod: only the helper inside the pod reached it.
	CheckedFromPod CheckedFrom = "Pod"
	// CheckedFromNode: the operator did not reach it. The node agent found that the agent
	// in the JVM serves the port, and that the JVM listens on it; it requested nothing.
	CheckedFromNode CheckedFrom = "Node"
)

// Beyond reports whether the operator itself did not reach the endpoint.
func (c CheckedFrom) Beyond() bool { return c == CheckedFromPod || c == CheckedFromNode }

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
	// tls reports whether the endpoint serves TLS.
	// +optional
	TLS bool `json:"tls,omitempty"`
	// checkedFrom is the location from which the endpoint was probed.
	// +required
	CheckedFrom CheckedFrom `json:"checkedFrom"`
	// silent reports whether the endpoint stopped answering although the JVM and its
	// agent are still there.
	// +optional
	Silent bool `json:"silent,omitempty"`
}
