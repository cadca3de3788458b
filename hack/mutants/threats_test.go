package mutants

// ofThreats are those of rules against attacks: see docs/threats.md.
var ofThreats = []mutant{
	{
		"an annotation of a pod shows an attachment only if it names the pod's record",
		steps + "/search.go", `return name != "" && name == s.Attachment.Name`, `return name != ""`,
		named{steps, "TestSearchOfLostRecord"},
	},
	{
		"a record knows no endpoints of a container that was not inspected",
		"pkg/record/container.go", "return c.Time == nil && !v1alpha1.NeedsPerson(c.Reason) }", "return false }",
		named{steps, "TestRecordLost"},
	},
	{
		"an EndpointSlice that anybody may write is no endpoint of the operator",
		"internal/controller/selection/selection.go", "slice.Labels[discoveryv1.LabelManagedBy] == SliceManager &&\n", "true &&\n",
		named{"test/integration", "TestForgedSlice"},
	},
	{
		"an EndpointSlice that no exporter controls is no endpoint of the operator",
		"internal/controller/selection/selection.go", `controller != nil && controller.Kind == "PrometheusJmxExporter" && string(controller.UID) == slice.Labels[v1alpha1.LabelExporterUID]`,
		"(controller == nil || controller != nil)",
		named{"internal/controller/selection", "TestOwnSlice"},
	},
	{
		"pods that share the node's network are protected",
		"pkg/pod/powers.go", "return c.pod.Spec.HostNetwork }", "return false }",
		named{steps, "TestPodProtected"},
	},
	{
		"pods that share the node's shared memory are protected",
		"pkg/pod/powers.go", "return c.pod.Spec.HostIPC }", "return false }",
		named{steps, "TestPodProtected"},
	},
	{
		"pods in kube-system are protected",
		"pkg/pod/powers.go", "return c.pod.Namespace == metav1.NamespaceSystem }", `return c.pod.Namespace == "" }`,
		named{steps, "TestPodProtected"},
	},
	{
		"a repetition in a pattern multiplies its instructions",
		"pkg/helperapi/patterns.go", "n *= max(1, re.Min, re.Max)", "n += max(1, re.Min, re.Max)",
		named{"pkg/helperapi", "TestInstructions"},
	},
	{
		"patterns with too many instructions are refused",
		"pkg/helperapi/patterns.go", "p.instructions > MaxInstructions {", "p.instructions > 99*MaxInstructions {",
		named{"pkg/helperapi", "TestPatterns"},
	},
	{
		"a pattern for the names of options reads no values",
		"internal/helper/rules.go", `name, _, _ := strings.Cut(argument, "=")`, "name := argument",
		named{"internal/helper", "TestArgumentsSearched"},
	},
	{
		"rules for whole arguments take the right to exec",
		steps + "/authorized.go", "case !readsArguments(exporter):", "case true:",
		named{steps, "TestArgumentsTakeExec"},
	},
	{
		"a requester counts only where a policy records it",
		"internal/manager/manager.go", "keep = withoutStamps(keep)", "_ = withoutStamps(keep)",
		named{"internal/manager", "TestIgnoredStamp"},
	},
	{
		"annotations of exporters are not kept beyond their limit",
		"internal/controller/crds/trim.go", `return fmt.Sprintf("more than %d bytes", maxAnnotation)`, `return fmt.Sprint(value)`,
		named{"internal/controller/crds", "TestTrim"},
	},
	{
		"a helper that acts as the JVM's user keeps its own real ID",
		"pkg/jvm/user.go", "syscall.SYS_SETRESUID, unchanged, uintptr(uid), unchanged", "syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)",
		named{"pkg/jvm", "TestActsAsIsProtected"},
	},
	{
		"contents of configurations are not kept by those who decide by them",
		"internal/controller/source/files.go", "\tinput.Content = nil\n", "",
		named{"internal/controller/source", "TestMemory"},
	},
	{
		"contents of configurations in memory have a limit",
		"internal/controller/source/memory.go", "m.size > m.limit; {", "m.size > 99*m.limit; {",
		named{"internal/controller/source", "TestMemoryIsShared"},
	},
	{
		"the namespace with the most contents in memory loses one first",
		"internal/controller/source/memory.go", "if p.size > most {", "if most == 0 || p.size < most {",
		named{"internal/controller/source", "TestMemoryIsShared"},
	},
	{
		"a namespace has few reads at once",
		"internal/controller/source/turns.go", "places: make(chan struct{}, readsOfNamespace)", "places: make(chan struct{}, readsAtOnce)",
		named{"internal/controller/source", "TestTurns"},
	},
	{
		"the pod of a deleted record that a finalizer keeps stays managed",
		"internal/controller/attachment/observe.go", "if err != nil {\n\t\treturn nil, client.IgnoreNotFound(err)", "if err != nil || !attachment.DeletionTimestamp.IsZero() {\n\t\treturn nil, client.IgnoreNotFound(err)",
		named{"test/integration", "TestRecordWithFinalizer"},
	},
	{
		"a helper does not lock a file that another one has removed",
		directory + "lock.go", "!t.dir.stillNamed(t.lock, LockFile(t.process)) || ", "",
		named{"internal/helper/directory", "TestLockAfterAnother"},
	},
}
