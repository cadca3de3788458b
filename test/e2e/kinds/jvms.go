package kinds

import "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"

// jvms are kinds of JVMs, by their options and their state.
var jvms = []Kind{
	{
		Name: "reduced-signals", Title: "`-Xrs`",
		Change:    Change{Container: options("-Xrs")},
		Transport: v1alpha1.TransportExec,
	},
	{
		Name: "attach-disabled", Title: "`-XX:+DisableAttachMechanism`",
		Change:    Change{Container: options("-XX:+DisableAttachMechanism")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonAttachDisabled, Words: []string{"dummyapp", "-XX:+DisableAttachMechanism"},
		Mended: &Change{},
	},
	{
		Name: "agents-refused", Title: "`-XX:-EnableDynamicAgentLoading`, Java 17",
		Change:    Change{Container: options("-XX:-EnableDynamicAgentLoading")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonAgentLoadingDisabled, Words: []string{"-XX:-EnableDynamicAgentLoading"},
		Mended: &Change{},
	},
	{
		Name: "agents-refused-25", Title: "`-XX:-EnableDynamicAgentLoading`, Java 25",
		Change:    Change{Container: `image: "dummyapp:25"` + "\n" + options("-XX:-EnableDynamicAgentLoading")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseJavaFound, Reason: v1alpha1.ReasonAgentLoadingDisabled, Words: []string{"-XX:-EnableDynamicAgentLoading"},
	},
	{
		Name: "port-in-use", Title: "the application listens on the exporter's port",
		Change:    Change{Container: options("-Ddummy.port=9400")},
		Transport: v1alpha1.TransportExec,
		Phase:     v1alpha1.PhaseLoaded, Reason: v1alpha1.ReasonPortInUse, Words: []string{"9400"},
		Mended: &Change{Container: options("-Ddummy.port=9400"), Exporter: "port: 9401"},
	},
}
