package mutants

const (
	nextStart = "internal/policies/templates/next-start/policy.yaml"
	outside   = "test/integration"
)

// ofNextStart are those for the rules of the admission policy of config/next-start, and of
// what is said of it. It is embedded in Go, so the compiler takes the mutant of its template.
var ofNextStart = []mutant{
	{
		"the next start leaves pods that have opted out as they are",
		nextStart, `.orValue("") != "true"`, `.orValue("") != "never"`,
		named{outside, "TestNextStartProtected"},
	},
	{
		"the next start leaves what has power over its node as it is",
		nextStart, " && !(e.path in variables.protected)", "",
		named{outside, "TestNextStartProtected"},
	},
	{
		"the next start leaves what shares processes with that as it is",
		nextStart, "variables.powerful.size() > 0 ?", "variables.powerful.size() > 99 ?",
		named{outside, "TestNextStartProtected"},
	},
	{
		"the next start leaves a variable from elsewhere as it is",
		nextStart, " && !has(v.valueFrom)", "",
		named{outside, "TestNextStartEnvironment"},
	},
	{
		"the next start hides no variable of envFrom",
		nextStart, " && e.c.?envFrom.orValue([]).size() == 0", "",
		named{outside, "TestNextStartEnvironment"},
	},
	{
		"the next start keeps the options that a pod has",
		nextStart, `v == "" ? "" : " " + v`, `""`,
		named{outside, "TestNextStartEnvironment"},
	},
	{
		"the next start makes no variable too long for the kernel, which counts bytes",
		nextStart, `bytes(v.?value.orValue("")).size()`, `v.?value.orValue("").size()`,
		named{outside, "TestNextStartEnvironment"},
	},
	{
		"the status promises no option to what has power over its node",
		"pkg/record/nextstart.go", "!start.Contradicts && protectedAtNextStart(in, c.Name)", "!start.Contradicts && in == nil",
		named{"pkg/record", "TestNextStartsProtected"},
	},
	{
		"what the policy decides by is not cut off",
		"internal/controller/exporter/nextstart.go", "to = &s.read", "_ = &s.read",
		named{"internal/controller/exporter", "TestNextStartSkippedOrder"},
	},
	{
		"a preflight counts no JVM as covered by what an upgrade changes",
		"internal/controller/exporter/nextstart.go", "return p.AgentLoading == v1alpha1.AgentLoadingWarns && ", "return ",
		named{"internal/controller/exporter", "TestCovered"},
	},
	{
		"from outside of a container, a missing variable is not known",
		"internal/helper/javaoptions.go", `if req.ContainerID != "" {`, "if false {",
		named{"internal/helper", "TestJavaOptionsOfTheContainer"},
	},
}
