package steps

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// Lost implements Step: an agent serves otherwise than wanted, or not at all.
func (l Load) Lost(s *Scope) statemachine.Event {
	for _, p := range s.toLoad() {
		if !l.serves(s, p) {
			return statemachine.AgentChanged
		}
	}
	return ""
}

func (l Load) serves(s *Scope, p *v1alpha1.JavaProcess) bool {
	files, port := s.files(l.Artifacts, p), s.port(p)
	return p.Port != 0 && (port == 0 || p.Port == port) &&
		p.ConfigSHA256 == files.ConfigSHA256 && p.ImplementationSHA256 == files.ImplementationSHA256
}

// Announce implements Announcer: a load whose outcome is lost must have been
// recorded as begun.
func (l Load) Announce(s *Scope) (changed bool) {
	for _, p := range s.toLoad() {
		files := s.files(l.Artifacts, p)
		intent := v1alpha1.LoadIntent{
			Port: s.port(p), ConfigSHA256: files.ConfigSHA256, ImplementationSHA256: files.ImplementationSHA256, Time: s.Now,
		}
		if p.Intent != nil && p.ConfigSHA256 != "" { // an agent serves since then
			before := *p.Intent
			before.Time = intent.Time
			if before == intent {
				continue
			}
		}
		p.Intent = &intent
		changed = true
	}
	return changed
}

// Ensure implements Step.
func (l Load) Ensure(ctx context.Context, s *Scope) Outcome {
	var trials []trial
	for _, p := range s.toLoad() {
		outcome := Outcome{Kind: Done}
		if !l.serves(s, p) {
			outcome = l.load(ctx, s, p)
		}
		if outcome.Reason == v1alpha1.ReasonProcessGone {
			outcome.Gone = Identity(p)
		}
		if outcome.Reason == v1alpha1.ReasonQueued || outcome.Back != "" {
			return outcome
		}
		trials = append(trials, trial{p, s.named(p, outcome)})
	}
	return s.together(v1alpha1.PhaseLoaded, trials, func() Outcome { return loaded(s, trials) })
}

// load makes the agent in one process serve what is wanted.
func (l Load) load(ctx context.Context, s *Scope, p *v1alpha1.JavaProcess) Outcome {
	files, port := s.files(l.Artifacts, p), s.port(p)
	report, err := l.Helper.Run(ctx, Target(s.Pod, p.Container), attach.VerbLoad, attach.Request{
		Target: target(p),
		Desired: &attach.Desired{
			Agent:                attach.FileName("agent-", files.AgentSHA256, ".jar"),
			Implementation:       attach.FileName("exporter-", files.ImplementationSHA256, ".jar"),
			ImplementationSHA256: files.ImplementationSHA256,
			Config:               attach.FileName("config-", files.ConfigSHA256, ".yaml"),
			ConfigSHA256:         files.ConfigSHA256,
			Port:                 port,
			Identity:             fingerprint(p),
			Avoid:                s.avoid(p),
		},
	})
	if err != nil {
		outcome := failed(err)
		switch outcome.Reason {
		case v1alpha1.ReasonStagingIncomplete: // the files went since they were staged
			p.Staged, outcome.Back = nil, statemachine.ConfigChanged
		case v1alpha1.ReasonStockExporter: // it came since we looked: it is to be adopted
			outcome = NotReached(v1alpha1.ReasonReplaced, "The stock JMX exporter has come into the JVM; it is looked at anew.")
			outcome.Back, outcome.Err = statemachine.Replaced, err
		}
		return outcome
	}
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		return NotReached(v1alpha1.ReasonHelperFailed, "The helper reported a load, but no mark of the agent.")
	}
	mark := report.Processes[0].Mark
	p.Port = mark.Port
	p.ConfigSHA256 = text.Cut(mark.ConfigSHA256, 64)
	p.ImplementationSHA256 = text.Cut(mark.ImplementationSHA256, 64)
	p.AgentVersion = text.Cut(mark.Agent, 64)
	if !l.serves(s, p) {
		return NotReached(v1alpha1.ReasonAgentNotAnswering,
			"The agent is in the JVM, but does not serve the port and the configuration wanted.")
	}
	return Outcome{Kind: Done, Message: text.Cut(report.Processes[0].Warning, 300)}
}

// loaded says which ports are served, and what the loads have left on the
// application's output, once.
func loaded(s *Scope, trials []trial) Outcome {
	var ports, warnings []string
	for _, p := range s.Chosen() {
		ports = append(ports, strconv.Itoa(int(p.Port)))
	}
	for _, t := range trials {
		if t.Kind == Done && t.Message != "" && !slices.Contains(warnings, t.Message) {
			warnings = append(warnings, t.Message)
		}
	}
	serves := fmt.Sprintf("The agent serves port %s.", strings.Join(ports, ", "))
	outcome := Reached(strings.Join(append([]string{serves}, warnings...), " "))
	if len(s.toLoad()) == 0 {
		outcome.Reason = v1alpha1.ReasonAdopted
		outcome.Message = fmt.Sprintf("The stock exporter serves port %s; it is exposed as it is, with its own configuration.", strings.Join(ports, ", "))
	}
	return outcome
}
