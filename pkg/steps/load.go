package steps

import (
	"context"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Load makes the operator's agent serve the staged configuration in the JVM, on the
// desired port. The helper decides under its lock whether that needs a load: an agent
// that is already in the JVM is reconfigured.
type Load struct{ Tools }

// Phase implements statemachine.Step.
func (Load) Phase() statemachine.Phase { return Loaded }

// Announce implements statemachine.Announcer. A load must be recorded before it begins,
// because its outcome may be lost; but not if there is no capacity for it, or a
// container that exits then would seem to have exited after an attach.
func (l Load) Announce(ctx context.Context, j *JVM) *statemachine.Outcome {
	p := j.Process
	if p.Adopted {
		return nil
	}
	if !j.serves() {
		if err := l.open(ctx, j.Situation, j.at()); err != nil {
			return new(loadFailed(j, err))
		}
	}
	files := j.files()
	intent := v1alpha1.LoadIntent{
		Port: j.port(), ConfigSHA256: files.ConfigSHA256, SecuritySHA256: files.SecuritySHA256,
		ImplementationSHA256: files.ImplementationSHA256, Time: j.Now,
		ResourcesSHA256: pod.RestartingResources(j.Pod, p.Container),
	}
	if p.Intent != nil && p.ConfigSHA256 != "" && sameRequest(*p.Intent, intent) { // an agent serves since then
		return nil
	}
	p.Intent = &intent
	return nil
}

// sameRequest reports whether two intents request the same from the agent.
func sameRequest(a, b v1alpha1.LoadIntent) bool {
	return a.Port == b.Port && a.ConfigSHA256 == b.ConfigSHA256 && a.SecuritySHA256 == b.SecuritySHA256 && a.ImplementationSHA256 == b.ImplementationSHA256
}

// Ensure implements statemachine.Step.
func (l Load) Ensure(ctx context.Context, j *JVM) statemachine.Outcome {
	p := j.Process
	if j.upToDate(Loaded) {
		return record.Done()
	}
	files, identity := j.files(), record.Fingerprint(p)
	report, err := l.run(ctx, j.Situation, j.at(), helperapi.VerbLoad, j.withTmp(p.Container, helperapi.Request{
		Target:          targetOf(p),
		MemoryHeadroom:  pod.MemoryHeadroom(j.Exporter),
		PodMemory:       pod.MemoryFor(j.Pod, p.Container),
		RefuseOnWarning: j.refusesOnWarning(),
		Desired: &helperapi.Desired{
			Agent:                helperapi.FileName("agent-", files.AgentSHA256, ".jar"),
			AgentSHA256:          files.AgentSHA256,
			Implementation:       helperapi.FileName("exporter-", files.ImplementationSHA256, ".jar"),
			ImplementationSHA256: files.ImplementationSHA256,
			Config:               helperapi.FileName("config-", files.ConfigSHA256, ".yaml"),
			ConfigSHA256:         files.ConfigSHA256,
			Security:             securityFile(files),
			SecuritySHA256:       files.SecuritySHA256,
			Port:                 j.port(),
			Identity:             identity,
			Avoid:                j.avoid(),
		},
	}))
	if err != nil {
		return loadFailed(j, err)
	}
	if len(report.Processes) != 1 || report.Processes[0].Mark == nil {
		return record.NotDone(v1alpha1.ReasonHelperFailed, "The helper reported a load, but the JVM has no mark of the agent.")
	}
	mark := report.Processes[0].Mark
	p.Port = mark.Port
	p.ConfigSHA256 = text.Cut(mark.ConfigSHA256, 64)
	p.ImplementationSHA256 = text.Cut(mark.ImplementationSHA256, 64)
	p.SecuritySHA256, p.CertificateSHA256 = text.Cut(mark.SecuritySHA256, 64), ""
	if mark.SecuritySHA256 == files.SecuritySHA256 {
		p.CertificateSHA256 = files.CertificateSHA256
	}
	p.AgentVersion = text.Cut(mark.Agent, 64)
	p.Identity = identity
	p.Warning = text.Cut(report.Processes[0].Warning, 300)
	p.Notices = nil
	record.Notice(p, mark.Notices)
	if !j.serves() {
		return record.NotDone(v1alpha1.ReasonAgentNotAnswering, "The agent is in the JVM, but does not serve the desired port, configuration and security settings.")
	}
	return record.Done()
}

// securityFile returns the name of the endpoint's security file; empty for plain HTTP.
func securityFile(files v1alpha1.StagedFiles) string {
	if files.SecuritySHA256 == "" {
		return ""
	}
	return helperapi.FileName("security-", files.SecuritySHA256, "")
}

func loadFailed(j *JVM, err error) statemachine.Outcome {
	outcome := failed(err)
	switch outcome.Reason {
	case v1alpha1.ReasonStagingIncomplete: // the files went since they were staged
		j.Process.Staged, outcome.Back = nil, ConfigChanged
		delete(j.present, j.Process.Container)
	case v1alpha1.ReasonStockExporter: // it came since the inspection: it is to be adopted
		outcome = record.NotDone(v1alpha1.ReasonReplaced, "The stock exporter was loaded into the JVM; rediscovering.")
		outcome.Back, outcome.Err = Replaced, err
	case v1alpha1.ReasonAgentLoadingWarns: // the helper does not know the exporter
		outcome.Message = loadWarns
	case v1alpha1.ReasonProcessGone:
		outcome.Back = Replaced
	}
	return outcome
}

// Undo implements statemachine.Step. It stops the agent. The helper removes its
// directory with the last agent in the container, or if there was none.
func (l Load) Undo(ctx context.Context, j *JVM) statemachine.Outcome {
	p := j.Process
	if !record.Runs(j.Pod, p) || j.untouched() {
		return record.Done()
	}
	if _, err := l.run(ctx, j.Situation, j.at(), helperapi.VerbUnload, helperapi.Request{Target: targetOf(p)}); err != nil {
		outcome := failed(err)
		if outcome.Kind == statemachine.Queued || record.MayHaveAgent(p) {
			return outcome
		}
		// Files that cannot be removed stay if no agent uses them, and have no effect.
	}
	if p.Adopted { // the stock exporter serves on
		return record.Done()
	}
	p.AgentFound, p.Intent, p.Notices, p.Port, p.ConfigSHA256, p.ImplementationSHA256 = false, nil, nil, 0, "", ""
	p.SecuritySHA256, p.CertificateSHA256 = "", ""
	return record.Done()
}

// untouched reports whether the process and its container have nothing of the operator:
// the inspection left nothing, and nothing else was ever granted to the pod.
func (j *JVM) untouched() bool {
	p := j.Process
	return j.Attachment.Spec.Revision == "" && j.Status().Revision == "" && !record.MayHaveAgent(p) && p.Staged == nil &&
		slices.ContainsFunc(j.Status().Containers, func(c v1alpha1.InspectedContainer) bool {
			return c.Name == p.Container && c.ContainerID == p.ContainerID && c.HelperRemoved
		})
}
