package mutants

// ofNode are those for the rules of a node agent.
var ofNode = []mutant{
	{
		"a node agent serves only the container of its conversation",
		"internal/helper/target.go", "if req.PodUID != target.PodUID || req.ContainerID != target.ContainerID {", "if req.PodUID != target.PodUID {",
		named{"internal/helper", "TestNodeBound"},
	},
	{
		"a process is in one container of one pod",
		"pkg/cgroup/place.go", `case found.name == "" || ok && found != place:`, `case found.name == "":`,
		named{"pkg/cgroup", "TestPlaceOf"},
	},
	{
		"a container's monitor on the node is not in the container",
		"pkg/cgroup/place.go", `&& !strings.Contains(runtime, "conmon")`, "",
		named{"pkg/cgroup", "TestPlaceOf"},
	},
	{
		"a node agent refuses its own pod",
		"internal/helper/nodeagent.go", "if inPod(string(own), target.PodUID) {", "if own == nil {",
		named{"internal/helper", "TestNodeAgent"},
	},
	{
		"a subPath of the node's system is a power over it",
		"internal/helper/node/mounts.go", `[]string{"volumes", "etc-hosts", "containers"}`, `[]string{"volumes", "etc-hosts", "containers", "volume-subpaths"}`,
		named{"internal/helper/node", "TestPowers"},
	},
	{
		"the pod's limit of threads holds on a node",
		"pkg/jvm/tasks.go", "if podUID, _, onNode := p.in.pod(); onNode {", `if podUID, _, _ := p.in.pod(); podUID == "-" {`,
		named{"internal/helper", "TestNodeFewTasks"},
	},
	{
		"a node agent writes no file as the node's root",
		"internal/helper/owner.go", "return container(req).As(owner, group, do)", "return container(req).As(0, 0*group, do)",
		named{"internal/helper", "TestNodeUsers"},
	},
	{
		"a node agent is given up only for what executed nothing in the container",
		"pkg/steps/agentfails.go", "|| !errors.Is(err, transport.ErrNotOpened) {", "|| errors.Is(err, nil) {",
		named{"pkg/steps", "TestNodeAgentIsKept"},
	},
	{
		"no ephemeral container is added where exec has led to the agent",
		"pkg/steps/reach.go", "led := entry.ReachedByExec || ", "led := ",
		named{"pkg/steps", "TestExecHasLed"},
	},
	{
		"a thread that acts as a JVM's user has CAP_SYS_PTRACE only if the kernel demands it",
		"pkg/jvm/user.go", "MayTrace() && p.hidden()", "MayTrace()",
		named{"pkg/jvm", "TestHidden"},
	},
	{
		"no pod is changed for good while a node agent is awaited",
		"pkg/steps/door.go", "return s.NodeAgent.Awaited && ", "return false && ",
		named{"pkg/steps", "TestNoDoorWhileNodeAgentIsAwaited"},
	},
	{
		"a node agent that crash-loops is not waited for without end",
		"internal/controller/nodeagents/agents.go", "before && now.Sub(n.ready) >= awaited:", "before:",
		named{"internal/controller/nodeagents", "TestAgents"},
	},
	{
		"a node agent serves only the pod of its conversation",
		"internal/helper/target.go", "if req.PodUID != target.PodUID || req.ContainerID != target.ContainerID {", "if req.ContainerID != target.ContainerID {",
		named{"internal/helper", "TestNodeBound"},
	},
	{
		"a node agent signals no successor of its session",
		"cmd/jmx-attach/node.go", "started != p.StartTime", "started == 0",
		named{"cmd/jmx-attach", "TestTerminate"},
	},
}
