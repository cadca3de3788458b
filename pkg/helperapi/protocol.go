// Package helperapi is what the operator and its helper, cmd/jmx-attach, say to each
// other: the operations, and the JSON in which they are asked for and answered.
// docs/agent-protocol.md describes the files and marks that they work on.
package helperapi

// AgentDirectory is the one directory that the helper writes to, in the container's own
// file system. It lies in /tmp because HotSpot's attach socket does too: where
// /tmp is not writable no JVM can be attached to.
const AgentDirectory = "/tmp/.jmx-exporter"

// Verb names an operation of the helper.
type Verb string

const (
	// VerbInspect lists the Java processes, and which of Request.Files lie in
	// AgentDirectory. It changes nothing and signals nobody.
	VerbInspect Verb = "inspect"
	// VerbStage writes Request.Files to AgentDirectory. What already lies there is left
	// alone. Leftovers of processes that are gone are removed.
	VerbStage Verb = "stage"
	// VerbLoad brings the agent of Request.Target to Request.Desired, and waits
	// for its answer: it loads the agent if there is none yet, else it only
	// tells it. Idempotent.
	VerbLoad Verb = "load"
	// VerbStatus reads the mark of Request.Target, and asks the port in it for
	// its metrics. It changes nothing and signals nobody.
	VerbStatus Verb = "status"
	// VerbUnload stops the agent of Request.Target and removes what was written
	// for it. The trampoline stays in the JVM, stopped. A process that is gone
	// counts as unloaded. Idempotent.
	VerbUnload Verb = "unload"
	// VerbProbe asks Request.Probe for a page.
	VerbProbe Verb = "probe"
)

// Request is one line of JSON on the helper's standard input. For Stage, the
// contents of Files follow it, one after the other, in their order.
type Request struct {
	// PodUID is the pod in which the helper must find itself; elsewhere it
	// answers ReasonWrongPod and touches nothing. Empty on a host.
	PodUID string `json:"podUID,omitempty"`
	// ContainerID is the container whose processes and files are meant, by the
	// runtime's ID without a scheme, for a helper that runs in another one of the
	// pod with the same PID namespace (an ephemeral container). Empty for the
	// helper's own.
	ContainerID string `json:"containerID,omitempty"`
	// Target is the process that Load, Status and Unload are about.
	Target *Target `json:"target,omitempty"`
	// Files are what Stage writes to AgentDirectory.
	Files []File `json:"files,omitempty"`
	// Desired is what Load asks of the agent.
	Desired *Desired `json:"desired,omitempty"`
	// TmpMountedElsewhere says that the volume of the container's /tmp is mounted
	// in other containers too, whose processes the helper does not see.
	TmpMountedElsewhere bool `json:"tmpMountedElsewhere,omitempty"`
	// AllowSharedTmp stages and loads also where that, or a process of another
	// user, is ReasonTmpShared otherwise.
	AllowSharedTmp bool `json:"allowSharedTmp,omitempty"`
	// MemoryHeadroom is how many bytes must be free below the memory limit of the
	// process' control groups before Load loads an agent for the first time, and
	// before Stage writes the files for that. A quarter of it is needed for another
	// implementation, nothing for another configuration or port. 0 or less checks nothing.
	MemoryHeadroom int64 `json:"memoryHeadroom,omitempty"`
	// RefuseOnWarning has Load refuse, with ReasonAgentLoadingWarns, a load that makes
	// the JVM print a warning: see Process.LoadWarns. An agent that is in the JVM
	// already is reconfigured all the same.
	RefuseOnWarning bool `json:"refuseOnWarning,omitempty"`
	// Probe is the endpoint that Probe asks, on the loopback address.
	Probe *Endpoint `json:"probe,omitempty"`
	// ListeningPorts asks Inspect and Status for Report.ListeningPorts. To list them the
	// kernel walks its table of connections, which has the node's size, not the pod's:
	// 10 ms of CPU that nobody spends who does not read them.
	ListeningPorts bool `json:"listeningPorts,omitempty"`
	// Rules say which processes are meant; Inspect marks the others with
	// Process.Excluded. The first rule that matches decides; a process that no
	// rule matches is included. At most 64 rules.
	Rules []ProcessRule `json:"rules,omitempty"`
}

// ProcessRule includes or excludes Java processes. It matches a process when all
// of its conditions do; a rule without conditions matches every process. Of a
// process that cannot be looked into, the main class is empty.
type ProcessRule struct {
	// Action is what becomes of the processes that match.
	Action RuleAction `json:"action"`
	// MainClass is a regular expression (RE2) that the whole of
	// Process.MainClass must match.
	MainClass string `json:"mainClass,omitempty"`
	// Argument is a regular expression (RE2) that the whole of one argument of
	// the command line must match, the JVM's or the application's. Arguments may
	// hold secrets and are never reported: the verdict is.
	Argument string `json:"argument,omitempty"`
}

// RuleAction is what a ProcessRule does with the processes that match it.
type RuleAction string

const (
	// RuleInclude means the process.
	RuleInclude RuleAction = "Include"
	// RuleExclude does not.
	RuleExclude RuleAction = "Exclude"
)

// Target identifies a process: a PID is reused, a PID with its start time is not.
type Target struct {
	// PID is the process ID as seen in the container.
	PID int `json:"pid"`
	// StartTime is in clock ticks since boot: field 22 of proc_pid_stat(5).
	StartTime uint64 `json:"startTime"`
}

// File is one file to stage. Its name has no slash and ends up in AgentDirectory.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Desired is what one JVM's agent shall do. File names are relative to AgentDirectory.
type Desired struct {
	// Agent is the file name of the trampoline jar, which the JVM loads.
	Agent string `json:"agent"`
	// AgentSHA256 is that jar's digest, in lower-case hexadecimal. Empty from older
	// operators: then the beginning of it in the name is all that is known.
	AgentSHA256 string `json:"agentSHA256,omitempty"`
	// Implementation is the file name of the jar behind the trampoline.
	Implementation string `json:"implementation"`
	// ImplementationSHA256 is that jar's digest, in lower-case hexadecimal.
	ImplementationSHA256 string `json:"implementationSHA256"`
	// Config is the file name of the exporter's configuration.
	Config string `json:"config"`
	// ConfigSHA256 is its digest, in lower-case hexadecimal.
	ConfigSHA256 string `json:"configSHA256"`
	// Security is the file name of the endpoint's security; empty for one in the clear.
	Security string `json:"security,omitempty"`
	// SecuritySHA256 is its digest, in lower-case hexadecimal.
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// Port is the TCP port to serve on. 0: the port that our agent in this JVM
	// serves already, else the lowest one from FirstPort upwards that nobody
	// listens on in the network namespace and that is not in Avoid. The mark
	// tells which it is.
	Port int32 `json:"port"`
	// Identity is what the agent calls itself in the header IdentityHeader of its
	// health answer: at most 64 characters of lower-case hexadecimal. Empty for
	// what it was told before, if anything.
	Identity string `json:"identity,omitempty"`
	// Avoid are ports that are not chosen: they are promised to other JVMs of
	// the pod, or declared for its containers. A Port given, or served already, may be among them.
	Avoid []int32 `json:"avoid,omitempty"`
}

// DefaultMemoryHeadroom is a Request.MemoryHeadroom that suits most JVMs, in bytes.
// docs/operations.md has the measurement behind it.
const DefaultMemoryHeadroom int64 = 96 << 20

// IdentityHeader is the HTTP header in which an agent's answer for its health
// says which JVM it is in: Desired.Identity. Older agents have none.
const IdentityHeader = "Jmx-Exporter-Identity"

// FirstPort is where the choice of a port begins; the stock exporter's own.
const FirstPort int32 = 9404

// Endpoint is an HTTP endpoint inside the container's network namespace.
type Endpoint struct {
	Port int32  `json:"port"`
	Path string `json:"path"`
	// TLS says that the endpoint speaks TLS. Then it is enough that it accepts a
	// connection: the helper has no TLS, which would make it larger by half.
	TLS bool `json:"tls,omitempty"`
}

// Report is the helper's answer on standard output: one JSON document.
type Report struct {
	// HelperVersion is the version of the helper that answered.
	HelperVersion string `json:"helperVersion"`
	// Processes are the Java processes found, by ascending PID: all of them
	// for Inspect, the target for Load, Status and Unload.
	Processes []Process `json:"processes,omitempty"`
	// ListeningPorts are the TCP ports in state LISTEN in the network
	// namespace, ascending, each once, if Request.ListeningPorts asks for them.
	ListeningPorts []int32 `json:"listeningPorts,omitempty"`
	// Files are the staged files that lie in AgentDirectory with the right digest.
	Files []File `json:"files,omitempty"`
	// AgentsLeft reports, for Unload, that other JVMs of the container have an agent of
	// ours.
	AgentsLeft bool `json:"agentsLeft,omitempty"`
	// Error says why what was asked for did not happen; nil when it did.
	Error *Error `json:"error,omitempty"`
}

// Process is one Java process.
type Process struct {
	Target `json:",inline"`
	// UID and GID are the effective ones, as seen in the container.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Implementation is HotSpot or OpenJ9.
	Implementation string `json:"implementation"`
	// Vendor and Version come from the runtime's release file; empty if
	// there is none.
	Vendor  string `json:"vendor,omitempty"`
	Version string `json:"version,omitempty"`
	// MainClass is the class, or the jar's or module's name.
	MainClass string `json:"mainClass,omitempty"`
	// Refusal says why this process cannot be attached to, without having
	// tried; nil when nothing speaks against it.
	Refusal *Error `json:"refusal,omitempty"`
	// Mark is what our agent says of itself in this JVM; nil when none was read.
	Mark *Mark `json:"mark,omitempty"`
	// AgentJarOpen reports that a jar of ours is open in this process: our agent
	// was loaded, whether or not a mark can be read. A jar in its place that is
	// not ours is a Refusal with ReasonForeignJar.
	AgentJarOpen bool `json:"agentJarOpen,omitempty"`
	// Excluded reports that Request.Rules exclude this process.
	Excluded bool `json:"excluded,omitempty"`
	// Exporter is the stock JMX exporter in this process, started with
	// -javaagent or attached by hand; nil when none was found. It is looked for
	// by Inspect, and by Load before a first load.
	Exporter *Exporter `json:"exporter,omitempty"`
	// LoadWarns reports that a load makes the JVM write the lines of JEP 451 to the
	// application's standard error.
	LoadWarns bool `json:"loadWarns,omitempty"`
	// Memory is what Inspect found of the memory limit of the process' control
	// groups; nil where there is none, or none that can be read.
	Memory *Memory `json:"memory,omitempty"`
	// Warning is what the application's output shows because of the load, such
	// as the four lines of JEP 451; empty if nothing.
	Warning string `json:"warning,omitempty"`
}

// Memory is the tightest memory limit of a process, in bytes.
type Memory struct {
	// Limit is the limit itself.
	Limit int64 `json:"limit"`
	// Free is what may still be used below it.
	Free int64 `json:"free"`
}

// Exporter is a stock JMX exporter: a Java agent that is none of ours.
type Exporter struct {
	// Port is the TCP port on which it serves; 0 when none answers as it does.
	Port int32 `json:"port,omitempty"`
}

// AgentState is the state that a Mark reports.
type AgentState string

const (
	// AgentStarting is set before the implementation is asked to start.
	AgentStarting AgentState = "starting"
	// AgentRunning means that the port is served with the configuration named.
	AgentRunning AgentState = "running"
	// AgentFailed means that nothing is served; Reason and Message say why.
	AgentFailed AgentState = "failed"
	// AgentStopped means that the agent was asked to stop, and did.
	AgentStopped AgentState = "stopped"
)

// Mark is the agent's word on itself, read from the JVM's system properties.
// See docs/agent-protocol.md.
type Mark struct {
	Protocol int        `json:"protocol"`
	State    AgentState `json:"state"`
	// Agent is the version of the implementation.
	Agent string `json:"agent,omitempty"`
	// Port is the port served; 0 when none is.
	Port int32 `json:"port,omitempty"`
	// ConfigSHA256 is the digest of the configuration served, as read by the agent.
	ConfigSHA256 string `json:"configSHA256,omitempty"`
	// SecuritySHA256 is the digest of the security that the endpoint is served with;
	// empty for one in the clear.
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// ImplementationSHA256 is the digest of the running implementation's jar.
	ImplementationSHA256 string `json:"implementationSHA256,omitempty"`
	// Desired is the token of the desired file that this mark answers.
	Desired string `json:"desired,omitempty"`
	// Loads counts the calls of agentmain in this JVM.
	Loads int `json:"loads,omitempty"`
	// Reloads and ReloadFailures count, in the running implementation, the
	// configurations that took over after the first, and those that were
	// rejected: jmx_config_reload_success_total and -failure_total in its
	// metrics. nil where the agent does not tell.
	Reloads        *int64 `json:"reloads,omitempty"`
	ReloadFailures *int64 `json:"reloadFailures,omitempty"`
	// Reason and Message tell why the desired state was not reached. They may
	// stand beside AgentRunning: then the previous configuration is served.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}
