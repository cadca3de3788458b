package record

import (
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Sum returns the state of the pod derived from its JVMs: that of the least advanced
// one, refused ones aside. The pod's own phases, before and after theirs, stay.
func (r Record) Sum(own statemachine.State) statemachine.State {
	at := v1alpha1.Phase(own.Phase)
	if !at.Reached(v1alpha1.PhaseJavaFound) {
		return own
	}
	var least *v1alpha1.JavaProcess
	for _, p := range r.Summed() {
		if least == nil || !phaseOf(p).Reached(phaseOf(least)) {
			least = p
		}
	}
	if least == nil {
		return own
	}
	if phase := phaseOf(least); !phase.Reached(v1alpha1.PhaseExposed) {
		state := ProcessState(least)
		state.Phase = statemachine.Phase(phase)
		state.Message = r.named(least, state.Message)
		return state
	}
	if !at.Reached(v1alpha1.PhaseExposed) {
		return statemachine.State{Phase: statemachine.Phase(v1alpha1.PhaseExposed)}
	}
	return own
}

// phaseOf returns the phase of the process, at least JavaFound, which another process
// has brought about for the pod.
func phaseOf(p *v1alpha1.JavaProcess) v1alpha1.Phase {
	if p.Phase.Reached(v1alpha1.PhaseJavaFound) {
		return p.Phase
	}
	return v1alpha1.PhaseJavaFound
}

// named prefixes the message with container and process if the pod has several.
func (r Record) named(p *v1alpha1.JavaProcess, message string) string {
	if message == "" || len(r.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded })) == 1 {
		return message
	}
	return fmt.Sprintf("Container %s, process %d: %s", p.Container, p.PID, message)
}
