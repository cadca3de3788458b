package helperapi

// VerbNode waits in the node agent: a pod of the operator's own on each node, which sees
// all processes of the node. Sessions are execs of VerbServe with ServeOnNode into it.
//
// Such a session carries many conversations side by side (pkg/transport/mux). Each begins
// with a line of JSON, a NodeTarget; then it is what VerbServe describes, with a child of
// the session's process that reaches no other container. An Answer with a Report instead of
// Hello says why there is none: its Error.
const VerbNode Verb = "node"

// ServeOnNode is the argument of VerbServe in a node agent.
const ServeOnNode = "--node"

// NodeTarget names the container that a conversation through a node agent is about.
type NodeTarget struct {
	// PodUID is the UID under which the kubelet runs the pod.
	PodUID string `json:"podUID"`
	// ContainerID is the runtime's ID, without a scheme.
	ContainerID string `json:"containerID"`
}
