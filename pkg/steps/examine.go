package steps

import (
	"cmp"
	"context"
	"errors"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Examine asks the helper about the state of a process whose endpoint does not answer.
func (t Tools) Examine(ctx context.Context, s *Situation, p *v1alpha1.JavaProcess, misses int32) Finding {
	at, helper := s.at(p.Container), t.Helper
	if at.Transport == v1alpha1.TransportEphemeralContainer && misses < silentMisses && !transport.DoorRuns(s.Pod) {
		return FindingUnclear // none is added only to look
	}
	report, err := helper.Run(ctx, at, helperapi.VerbStatus, helperapi.Request{Target: targetOf(p)})
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
		_, err = helper.Run(ctx, at, helperapi.VerbProbe, helperapi.Request{Probe: &helperapi.Endpoint{Port: p.Port, Path: probe.Path(p)}})
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

// lookForAgents inspects a container, through an ephemeral container if exec cannot
// reach it and the operator has added one: the container may have been attached to that
// way.
func (t Tools) lookForAgents(ctx context.Context, s *Situation, c pod.Container) (*helperapi.Report, error) {
	look := func() (*helperapi.Report, error) {
		return t.Helper.Run(ctx, s.at(c.Name), helperapi.VerbInspect, helperapi.Request{})
	}
	report, err := look()
	if s.transport() == v1alpha1.TransportAuto && ExecCannot(reasonOf(err)) && len(transport.Doors(s.Pod)) > 0 {
		s.InspectedOrNew(c).Transport = v1alpha1.TransportEphemeralContainer
		report, err = look()
	}
	at := s.at(c.Name)
	if err == nil && at.Transport == v1alpha1.TransportEphemeralContainer && s.noteUser(at, s.InspectedOrNew(c), report.Processes) {
		report, err = look()
	}
	return report, err
}

// FindAgents adds the processes that have an agent of the operator to a record that was
// lost, as far as they can be found. A container that is refused for inspection never
// had one. Protection does not apply: the flags may have been different when the agent
// was loaded.
func (t Tools) FindAgents(ctx context.Context, s *Situation) error {
	if pod.RunsWindows(s.Pod) {
		return nil
	}
	var failures []error
	for _, c := range pod.Running(s.Pod) {
		report, err := t.lookForAgents(ctx, s, c)
		if err != nil {
			if !v1alpha1.NeedsPerson(reasonOf(err)) || len(transport.Doors(s.Pod)) > 0 {
				failures = append(failures, err)
			}
			continue
		}
		for _, p := range report.Processes {
			if !p.AgentJarOpen || p.Mark != nil && p.Mark.State == helperapi.AgentStopped {
				continue
			}
			found := javaProcess(c, p)
			found.AgentFound = true
			if p.Mark != nil {
				found.Port = p.Mark.Port
			}
			if known := s.Known(record.Identity(&found)); known != nil {
				known.AgentFound, known.Port = true, cmp.Or(known.Port, found.Port)
				continue
			}
			s.Status().Processes = append(s.Status().Processes, found)
		}
	}
	return errors.Join(failures...)
}
