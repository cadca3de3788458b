package steps

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Examine asks the helper about the state of a process whose endpoint does not answer.
func (t Tools) Examine(ctx context.Context, s *Situation, p *v1alpha1.JavaProcess, misses int32) Finding {
	at := s.at(p.Container)
	if at.Transport == v1alpha1.TransportEphemeralContainer && misses < silentMisses && !transport.DoorRuns(s.Pod) {
		return FindingUnclear // none is added only to look
	}
	report, err := t.run(ctx, s, at, helperapi.VerbStatus, helperapi.Request{Target: targetOf(p)})
	switch reason := reasonOf(err); {
	case reason == v1alpha1.ReasonProcessGone:
		return FindingGone
	case reason == v1alpha1.ReasonEndpointNotServing:
		return FindingSilent
	case reason == v1alpha1.ReasonForeignJar:
		return FindingStopped // a load says what is there instead
	case err != nil || len(report.Processes) != 1:
		return FindingUnclear
	}
	if p.Adopted {
		_, err = t.run(ctx, s, at, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: p.Port, Path: probe.Path(p)}})
		switch {
		case reasonOf(err) == v1alpha1.ReasonEndpointNotServing:
			return FindingSilent
		case err != nil:
			return FindingUnclear
		}
		return FindingServing
	}
	switch found := report.Processes[0]; {
	case found.Mark == nil && found.AgentJarOpen:
		return FindingUnclear
	case found.Mark == nil || found.Mark.State != helperapi.AgentRunning:
		return FindingStopped
	}
	return FindingServing
}
