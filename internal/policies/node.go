package policies

import (
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// NodeAgent is the name of the DaemonSet of the node agents, of their service account, and
// of their label app.kubernetes.io/name (config/node).
const NodeAgent = "jmx-exporter-node"

// NodeContainer is the name of the container of a node agent.
const NodeContainer = "node-agent"

// NodeProgram returns the command of a node agent's container.
func NodeProgram() []string { return []string{helperapi.DoorProgram, string(helperapi.VerbNode)} }

// NodeCommand returns the command of a session in a node agent: the operator's own.
func NodeCommand() []string { return transport.NodeCommand() }

// NodeCapabilities returns the capabilities of a node agent, sorted; docs/node-agent.md says
// what each is for. It is the one list: a test compares it with config/node.
func NodeCapabilities() []string { return []string{"CHOWN", "SETGID", "SETUID", "SYS_PTRACE"} }

// node are the values of node agents in the templates.
type node struct {
	Agent, Prefix, Container       string
	Program, Command, Capabilities []string
}

func nodeValues() node {
	return node{NodeAgent, NodeAgent + "-", NodeContainer, NodeProgram(), NodeCommand(), NodeCapabilities()}
}
