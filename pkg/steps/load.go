package steps

import (
	"context"
	"fmt"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Load makes our agent answer in the process, with the configuration staged, on
// the port wanted. Whether it must be loaded for that is the helper's to see,
// under its lock: where our agent is in the JVM already, it is told what to do.
type Load struct {
	Helper    Helper
	Artifacts *Artifacts
}

// Phase implements Step.
func (Load) Phase() statemachine.Phase { return statemachine.Loaded }

// Lost implements Step.
func (l Load) Lost(s *Scope) statemachine.Event {
	p, staged := s.Process(), s.Status().Staged
	if p != nil && staged != nil && p.Port == s.Exporter.Spec.Port &&
		p.ConfigSHA256 == staged.ConfigSHA256 && p.ImplementationSHA256 == staged.ImplementationSHA256 {
		return ""
	}
	return statemachine.AgentChanged
}

// Announce implements Announcer: a load whose outcome is lost must have been
// recorded as begun.
func (Load) Announce(s *Scope) bool {
	p := s.Process()
	intent := v1alpha1.LoadIntent{
		Container: p.Container, ContainerID: p.ContainerID, PID: p.PID, StartTime: p.StartTime,
		Port: s.Exporter.Spec.Port, ConfigSHA256: s.Status().Staged.ConfigSHA256,
	}
	if s.Status().Intent != nil && *s.Status().Intent == intent {
		return false
	}
	s.Status().Intent = &intent
	return true
}

// Ensure implements Step.
func (l Load) Ensure(ctx context.Context, s *Scope) Outcome {
	p := s.Process()
	report, err := l.Helper.Run(ctx, s.target(p.Container), attach.VerbLoad, attach.Request{
		Target: &attach.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)},
		Desired: &attach.Desired{
			Agent:                l.Artifacts.Agent.Name,
			Implementation:       l.Artifacts.Implementation.Name,
			ImplementationSHA256: l.Artifacts.Implementation.SHA256,
			Config:               s.Config.Name,
			ConfigSHA256:         s.Config.SHA256,
			Port:                 s.Exporter.Spec.Port,
		},
	})
	if err != nil {
		return failed(err)
	}
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		return NotReached(v1alpha1.ReasonHelperFailed, "The helper reported a load, but no mark of the agent.")
	}
	loaded := report.Processes[0]
	mark := loaded.Mark
	p.Port = mark.Port
	p.ConfigSHA256 = text.Cut(mark.ConfigSHA256, 64)
	p.ImplementationSHA256 = text.Cut(mark.ImplementationSHA256, 64)
	p.AgentVersion = text.Cut(mark.Agent, 64)
	if l.Lost(s) != "" {
		return NotReached(v1alpha1.ReasonAgentNotAnswering,
			fmt.Sprintf("The agent is in the JVM, but does not serve port %d with the configuration wanted.", s.Exporter.Spec.Port))
	}
	message := fmt.Sprintf("The agent serves port %d.", p.Port)
	if loaded.Warning != "" {
		message += " " + text.Cut(loaded.Warning, 300)
	}
	return Reached(message)
}
