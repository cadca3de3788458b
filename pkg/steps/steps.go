package steps

import (
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// PodSteps returns the steps of the pod's own phases.
func PodSteps(with Tools) []statemachine.Step[*Situation] {
	return []statemachine.Step[*Situation]{Discover{}, FindJava{with}, Annotate{with}}
}

// JVMSteps returns the steps that each JVM goes through independently.
func JVMSteps(with Tools) []statemachine.Step[*JVM] {
	return []statemachine.Step[*JVM]{Stage{with}, Load{with}, Expose{with}}
}
