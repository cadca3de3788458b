package kinds

import "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"

// jvms are kinds of JVMs, by their options.
var jvms = []Kind{
	{
		Name: "reduced-signals", Title: "`-Xrs`",
		ProvedBy:  "pkg/jvm TestSignalsReduced",
		Change:    Change{Container: options("-Xrs")},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "attach-disabled", Title: "`-XX:+DisableAttachMechanism`",
		ProvedBy:  "test/e2e TestPreflight",
		Change:    Change{Container: options("-XX:+DisableAttachMechanism")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonAttachDisabled, Words: []string{"dummyapp", "-XX:+DisableAttachMechanism"},
		Mended: &Change{},
	},
	{
		Name: "agents-refused", Title: "`-XX:-EnableDynamicAgentLoading`, Java 17",
		ProvedBy:  "pkg/jvm TestAgentLoadingDisabled",
		Change:    Change{Container: options("-XX:-EnableDynamicAgentLoading")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonAgentLoadingDisabled, Words: []string{"-XX:-EnableDynamicAgentLoading"},
		Mended: &Change{},
	},
	{
		Name: "agents-refused-25", Title: "`-XX:-EnableDynamicAgentLoading`, Java 25",
		ProvedBy:  "pkg/jvm TestAgentLoadingDisabled",
		Change:    Change{Container: java25 + "\n" + options("-XX:-EnableDynamicAgentLoading")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonAgentLoadingDisabled, Words: []string{"-XX:-EnableDynamicAgentLoading"},
	},
	{
		Name: "warned", Title: "Java 25, `dynamicAgentLoading: Allow`",
		ProvedBy:  "test/e2e TestChanges",
		Change:    Change{Container: java25, Exporter: "dynamicAgentLoading: Allow"},
		Warned:    "dummyapp:25",
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Words: []string{"JEP 451"},
	},
	{
		Name: "refused-on-warning", Title: "Java 25, `dynamicAgentLoading: RefuseOnWarning`",
		ProvedBy:  "internal/helper TestRefusedWarning",
		Change:    Change{Container: java25, Exporter: "dynamicAgentLoading: RefuseOnWarning"},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonAgentLoadingWarns, Words: []string{"JEP 451", "-XX:+EnableDynamicAgentLoading"},
		Mended: &Change{Container: java25 + "\n" + options("-XX:+EnableDynamicAgentLoading"), Exporter: "dynamicAgentLoading: RefuseOnWarning"},
	},
	{
		Name: "no-perf-data", Title: "`-XX:-UsePerfData`, distroless",
		ProvedBy:  "internal/helper TestOptions",
		Change:    Change{Container: noShell + "\n" + options("-XX:-UsePerfData")},
		Transport: v1alpha1.TransportEphemeralContainer,
	},
	{
		Name: "perf-data-unshared", Title: "`-XX:+PerfDisableSharedMem`",
		ProvedBy:  "internal/helper TestOptions",
		Change:    Change{Container: options("-XX:+PerfDisableSharedMem")},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "no-instrument", Title: "a runtime by jlink without `java.instrument`",
		ProvedBy:  "pkg/jvm TestMissingInstrumentModule",
		Change:    Change{Container: linked + "command: [/jre/without-instrument/bin/java, -jar, /app/dummyapp.jar]"},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonMissingModule, Words: []string{"java.instrument"},
		Mended: &Change{},
	},
	{
		Name: "no-management", Title: "a runtime by jlink without `java.management`",
		ProvedBy: "internal/helper TestMissingModule",
		// The application needs the module, too. keytool waits for its input.
		Change:    Change{Container: linked + "stdin: true\ncommand: [/jre/without-management/bin/java, sun.security.tools.keytool.Main, -printcert]"},
		NoJava:    true,
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonMissingModule, Words: []string{"java.management"},
		Loaded: true,
	},
	{
		Name: "other-agent", Title: "`JAVA_TOOL_OPTIONS` with another agent",
		Change:    Change{Container: `env: [{name: JAVA_TOOL_OPTIONS, value: "-javaagent:/app/dummyapp.jar"}]`},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "negative-counter", Title: "a counter with a negative value",
		Change:    Change{Container: options("-Ddummy.requests=-1")},
		Metric:    "dummyapp_queue_size",
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.ConditionScrapeIncomplete, Words: []string{`domain "dummyapp"`, "type: GAUGE"},
	},
	{
		Name: "security-manager", Title: "a security manager that permits everything, Java 17",
		Change:    Change{Container: secured("grant { permission java.security.AllPermission; };")},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "strict-security-manager", Title: "a security manager that permits the agent nothing, Java 17",
		ProvedBy:  "internal/helper TestSilentAgent",
		Change:    Change{Container: secured(`grant codeBase \"file:/app/-\" { permission java.security.AllPermission; };`)},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonAgentNotAnswering,
		Loaded: true,
	},
}

const linked = `image: "dummyapp:17-linked"` + "\n"

// secured starts the JVM with a security manager and this policy.
func secured(policy string) string {
	return script(`echo "` + policy + `" >/tmp/policy; exec java -Djava.security.manager -Djava.security.policy==/tmp/policy -jar /app/dummyapp.jar`)
}
