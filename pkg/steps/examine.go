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
	mayChangePod := misses >= silentMisses || transport.DoorRuns(s.Pod) // no ephemeral container is added only to look
	if at.Transport == v1alpha1.TransportEphemeralContainer && !mayChangePod {
		return FindingUnclear
	}
	report, err := t.runBy(ctx, s, at, mayChangePod, helperapi.VerbStatus, helperapi.Request{Target: targetOf(p)})
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
		_, err = t.runBy(ctx, s, at, mayChangePod, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: p.Port, Path: probe.Path(p)}})
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
