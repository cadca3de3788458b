//go:build linux

package helper

import (
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// loadWarns reports whether a load makes the JVM print the warning of JEP 451.
func loadWarns(p jvm.Process) bool {
	return jvm.Major(p.Version) >= 21 && p.Flags.AgentLoading != jvm.On
}

// checkWarning refuses such a load if it has to be silent.
func checkWarning(p jvm.Process, silent bool) error {
	if !silent || !loadWarns(p) {
		return nil
	}
	return helperapi.Errorf(helperapi.ReasonAgentLoadingWarns, "Loading the agent makes Java %d write the four warning lines of JEP 451 to the application's standard error. Start the JVM with -XX:+EnableDynamicAgentLoading, or accept the lines with spec.dynamicAgentLoading: Allow.", jvm.Major(p.Version))
}

// loadWarning is what such a load prints on the application's standard error.
const loadWarning = "The JVM wrote the four warning lines of JEP 451 to the application's standard error; -XX:+EnableDynamicAgentLoading hides them."
