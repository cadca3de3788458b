package steps

import (
	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// refusesWarning returns why nothing is loaded into a process: its JVM would print a
// warning, which the exporter does not accept; nil otherwise. If the record does not
// know whether the JVM warns, the helper checks before it loads.
func (s *Situation) refusesWarning(p *v1alpha1.JavaProcess) *statemachine.Outcome {
	if !s.refusesOnWarning() || !p.LoadWarns || p.Excluded || p.Adopted || record.MayHaveAgent(p) {
		return nil
	}
	return new(record.NotDone(v1alpha1.ReasonAgentLoadingWarns, "Loading the agent makes the JVM write the four warning lines of JEP 451 to the application's standard error. Start the JVM with -XX:+EnableDynamicAgentLoading, or accept the lines with spec.dynamicAgentLoading: Allow."))
}
