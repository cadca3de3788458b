// Package helperapi defines the protocol between the operator and its helper,
// cmd/jmx-attach: the operations, and the JSON of requests and answers.
// docs/agent-protocol.md describes the files and marks that they use.
package helperapi

// AgentDirectory is the only directory that the helper writes to, in the container's own
// file system. It is in /tmp because HotSpot's attach socket is: where /tmp is not
// writable, no JVM can be attached to.
const AgentDirectory = "/tmp/.jmx-exporter"

// Verb is an operation of the helper.
type Verb string

const (
	// VerbInspect lists the Java processes, and which of Request.Files exist in
	// AgentDirectory. It changes nothing and sends no signal.
	VerbInspect Verb = "inspect"
	// VerbStage writes Request.Files to AgentDirectory. It keeps files that exist
	// already, and removes leftovers of processes that have exited.
	VerbStage Verb = "stage"
	// VerbLoad brings the agent of Request.Target to Request.Desired and waits for its
	// answer. It loads the agent if there is none yet, and otherwise only reconfigures
	// it. Idempotent.
	VerbLoad Verb = "load"
	// VerbCheck has the agent of Request.Target judge Request.Candidate, which VerbStage has
	// written, and waits for Report.Judgement. What the agent serves does not change.
	VerbCheck Verb = "check"
	// VerbStatus reads the mark of Request.Target, and requests the metrics from the port
	// in the mark. It changes nothing and sends no signal.
	VerbStatus Verb = "status"
	// VerbUnload stops the agent of Request.Target and removes the files written for it.
	// The trampoline stays in the JVM, stopped. A process that has exited counts as
	// unloaded. Idempotent.
	VerbUnload Verb = "unload"
	// VerbProbe requests a page from Request.Probe.
	VerbProbe Verb = "probe"
)

// Request is one line of JSON on the helper's standard input. For VerbStage, the contents
// of Files follow in order, without separators.
type Request struct {
	// PodUID is the UID of the target pod. A helper in another pod answers ReasonWrongPod
	// and changes nothing. Empty on a host.
	PodUID string `json:"podUID,omitempty"`
	// ContainerID is the target container: the runtime's ID without a scheme. It is for a
	// helper in another container of the pod with the same PID namespace (an ephemeral
	// container). Empty for the helper's own container.
	ContainerID string `json:"containerID,omitempty"`
	// Target is the process for VerbLoad, VerbCheck, VerbStatus and VerbUnload.
	Target *Target `json:"target,omitempty"`
	// Files are the files that VerbStage writes to AgentDirectory.
	Files []File `json:"files,omitempty"`
	// Desired is the desired state of the agent, for VerbLoad.
	Desired *Desired `json:"desired,omitempty"`
	// Candidate is the configuration for VerbCheck, by its name in AgentDirectory.
	Candidate *File `json:"candidate,omitempty"`
	// TmpMountedElsewhere reports that the volume at the container's /tmp is also mounted
	// in other containers, whose processes the helper does not see.
	TmpMountedElsewhere bool `json:"tmpMountedElsewhere,omitempty"`
	// AllowSharedTmp permits VerbStage, VerbLoad and VerbCheck where TmpMountedElsewhere, or a
	// process of another user, would cause ReasonTmpShared.
	AllowSharedTmp bool `json:"allowSharedTmp,omitempty"`
	// MemoryHeadroom is the number of bytes that must be free below the memory limit of
	// the process' control groups before VerbLoad loads an agent for the first time, and
	// before VerbStage writes the files for that. Another implementation requires a
	// quarter of it, another configuration or port nothing. 0 or less disables the check.
	MemoryHeadroom int64 `json:"memoryHeadroom,omitempty"`
	// PodMemory is the memory limit that the container shares with others; nil for none.
	PodMemory *PodMemory `json:"podMemory,omitempty"`
	// RefuseOnWarning makes VerbLoad refuse, with ReasonAgentLoadingWarns, a load that
	// makes the JVM print a warning: see Process.LoadWarns. An agent that is already in
	// the JVM is reconfigured regardless.
	RefuseOnWarning bool `json:"refuseOnWarning,omitempty"`
	// Probe is the endpoint for VerbProbe, on the loopback address.
	Probe *Endpoint `json:"probe,omitempty"`
	// ListeningPorts makes VerbInspect and VerbStatus fill Report.ListeningPorts. The
	// kernel walks its connection table for that, which has the size of the node, not of
	// the pod: 10 ms of CPU, to be spent only if the result is used.
	ListeningPorts bool `json:"listeningPorts,omitempty"`
	// Rules select processes; VerbInspect reports those not selected with
	// Process.Excluded. The first matching rule decides; a process that no rule matches
	// is included. At most 64 rules.
	Rules []ProcessRule `json:"rules,omitempty"`
}

// ProcessRule includes or excludes Java processes. It matches a process if all of its
// conditions do; a rule without conditions matches every process. The main class of a
// process that cannot be inspected is empty.
type ProcessRule struct {
	// Action is applied to the matching processes.
	Action RuleAction `json:"action"`
	// MainClass is a regular expression (RE2) that must match all of Process.MainClass.
	MainClass string `json:"mainClass,omitempty"`
	// Argument is a regular expression (RE2) that must match all of one argument of the
	// command line, either of the JVM or of the application. Arguments may contain
	// secrets and are never reported. The result alone reveals them to whoever may try many
	// expressions, who therefore needs the right to read them.
	Argument string `json:"argument,omitempty"`
	// OptionName is a regular expression (RE2) that must match all of the name of one option
	// on the command line: an argument that begins with "-", up to its first "=". A helper
	// that knows it reports Hello.OptionNames.
	OptionName string `json:"optionName,omitempty"`
}

// RuleAction is the effect of a ProcessRule on matching processes.
type RuleAction string

const (
	// RuleInclude selects the process.
	RuleInclude RuleAction = "Include"
	// RuleExclude does not select the process.
	RuleExclude RuleAction = "Exclude"
)

// Target identifies a process: a PID is reused, a PID with its start time is not.
type Target struct {
	// PID is the process ID as seen in the container.
	PID int `json:"pid"`
	// StartTime is in clock ticks since boot: field 22 of proc_pid_stat(5).
	StartTime uint64 `json:"startTime"`
}

// File is a file to stage in AgentDirectory. Its name contains no slash.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Desired is the desired state of the agent in one JVM. File names are relative to
// AgentDirectory.
type Desired struct {
	// Agent is the file name of the trampoline jar, which the JVM loads.
	Agent string `json:"agent"`
	// AgentSHA256 is that jar's digest, in lower-case hexadecimal. Older operators leave
	// it empty: then only the digest prefix in the file name is known.
	AgentSHA256 string `json:"agentSHA256,omitempty"`
	// Implementation is the file name of the jar that the trampoline loads.
	Implementation string `json:"implementation"`
	// ImplementationSHA256 is that jar's digest, in lower-case hexadecimal.
	ImplementationSHA256 string `json:"implementationSHA256"`
	// Config is the file name of the exporter's configuration.
	Config string `json:"config"`
	// ConfigSHA256 is its digest, in lower-case hexadecimal.
	ConfigSHA256 string `json:"configSHA256"`
	// Security is the file name of the endpoint's security configuration; empty for plain
	// HTTP.
	Security string `json:"security,omitempty"`
	// SecuritySHA256 is its digest, in lower-case hexadecimal.
	SecuritySHA256 string `json:"securitySHA256,omitempty"`
	// Port is the TCP port to serve on. 0 selects the port that our agent already serves
	// in this JVM, otherwise the lowest port from FirstPort upwards that is free in the
	// network namespace and not in Avoid. The mark reports the selected port.
	Port int32 `json:"port"`
	// Identity is the value of the header IdentityHeader in the agent's health response:
	// at most 64 characters of lower-case hexadecimal. Empty keeps the previous one, if
	// any.
	Identity string `json:"identity,omitempty"`
	// Avoid are ports not to select: they are reserved for other JVMs of the pod, or
	// declared for its containers. A given Port, or one already served, may be among
	// them.
	Avoid []int32 `json:"avoid,omitempty"`
}

// DefaultMemoryHeadroom is a Request.MemoryHeadroom that suits most JVMs, in bytes.
// docs/operations.md has the measurement behind it.
const DefaultMemoryHeadroom int64 = 96 << 20

// IdentityHeader is the HTTP header of the agent's health response that identifies its
// JVM: Desired.Identity. Older agents do not send it.
const IdentityHeader = "Jmx-Exporter-Identity"

// FirstPort is the lowest port that is selected, which is the stock exporter's default.
const FirstPort int32 = 9404

// Endpoint is an HTTP endpoint inside the container's network namespace.
type Endpoint struct {
	Port int32  `json:"port"`
	Path string `json:"path"`
	// TLS reports that the endpoint speaks TLS. A probe then only requires that it
	// accepts a connection: a TLS implementation would make the helper 50 percent larger.
	TLS bool `json:"tls,omitempty"`
}

// Report is the helper's answer on standard output: one JSON document.
type Report struct {
	// HelperVersion is the version of the helper that answered.
	HelperVersion string `json:"helperVersion"`
	// Processes are the Java processes by ascending PID: all for VerbInspect; the target
	// for VerbLoad, VerbCheck, VerbStatus and VerbUnload.
	Processes []Process `json:"processes,omitempty"`
	// ListeningPorts are the TCP ports in state LISTEN in the network namespace,
	// ascending and without duplicates, if Request.ListeningPorts is set.
	ListeningPorts []int32 `json:"listeningPorts,omitempty"`
	// Files are the staged files that exist in AgentDirectory with the right digest.
	Files []File `json:"files,omitempty"`
	// AgentsLeft reports, for VerbUnload, that other JVMs of the container have our
	// agent.
	AgentsLeft bool `json:"agentsLeft,omitempty"`
	// Judgement is the agent's, for VerbCheck; nil if it did not judge.
	Judgement *Judgement `json:"judgement,omitempty"`
	// FromNode reports that the helper is a node agent, which does not reach the loopback
	// address of the container: where others request a page of an endpoint, it only knows
	// that a process of the container listens on its port.
	FromNode bool `json:"fromNode,omitempty"`
	// Error states why the operation failed; nil if it succeeded.
	Error *Error `json:"error,omitempty"`
}

// Process is one Java process.
type Process struct {
	Target `json:",inline"`
	// UID and GID are the effective IDs, as seen in the container.
	UID int `json:"uid"`
	GID int `json:"gid"`
	// Implementation is HotSpot or OpenJ9.
	Implementation string `json:"implementation"`
	// Vendor and Version are from the runtime's release file; empty if there is none.
	Vendor  string `json:"vendor,omitempty"`
	Version string `json:"version,omitempty"`
	// MainClass is the main class, or the name of the jar or module.
	MainClass string `json:"mainClass,omitempty"`
	// Refusal states why this process cannot be attached to, without an attempt; nil if
	// nothing prevents it.
	Refusal *Error `json:"refusal,omitempty"`
	// Mark is the state that our agent reports in this JVM; nil if none was read.
	Mark *Mark `json:"mark,omitempty"`
	// AgentJarOpen reports that a jar of ours is open in this process: our agent was
	// loaded, whether or not its mark can be read. A foreign jar under its name is a
	// Refusal with ReasonForeignJar.
	AgentJarOpen bool `json:"agentJarOpen,omitempty"`
	// Excluded reports that Request.Rules exclude this process.
	Excluded bool `json:"excluded,omitempty"`
	// Exporter is the stock JMX exporter in this process, started with -javaagent or
	// attached manually; nil if none was found. VerbInspect looks for it, and VerbLoad
	// before a first load.
	Exporter *Exporter `json:"exporter,omitempty"`
	// LoadWarns reports that a load makes the JVM print the warning of JEP 451 on the
	// application's standard error.
	LoadWarns bool `json:"loadWarns,omitempty"`
	// LoadDenied reports that the JVM was started with -XX:-EnableDynamicAgentLoading.
	LoadDenied bool `json:"loadDenied,omitempty"`
	// LoadAllowed reports that it was started with -XX:+EnableDynamicAgentLoading.
	LoadAllowed bool `json:"loadAllowed,omitempty"`
	// JavaOptions reports whether the environment that the JVM started with has the variable
	// JDK_JAVA_OPTIONS: Absent, Set, or Ignored if the launcher does not read it; empty
	// if that is not known. Its value is not reported: it may contain secrets.
	JavaOptions string `json:"javaOptions,omitempty"`
	// Memory is the memory limit of the process' control groups, for VerbInspect; nil if
	// there is none, or none can be read.
	Memory *Memory `json:"memory,omitempty"`
	// Warning is what the JVM printed on the application's output because of the load,
	// such as the four lines of JEP 451; empty if nothing.
	Warning string `json:"warning,omitempty"`
}

// Exporter is a stock JMX exporter, a Java agent other than ours.
type Exporter struct {
	// Port is the TCP port that it serves; 0 if no port answers like the stock exporter.
	Port int32 `json:"port,omitempty"`
}
