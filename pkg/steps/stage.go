package steps

import (
	"context"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Stage brings agent and configuration into the container.
type Stage struct {
	Helper    Helper
	Artifacts *Artifacts
}

// Phase implements Step.
func (Stage) Phase() statemachine.Phase { return statemachine.Staged }

// Lost implements Step: the configuration cannot be used, or other files are
// wanted than those that lie there.
func (st Stage) Lost(s *Scope) statemachine.Event {
	staged := s.Status().Staged
	if s.Config.Problem == nil && staged != nil && *staged == st.wanted(s) {
		return ""
	}
	return statemachine.ConfigChanged
}

// Ensure implements Step.
func (st Stage) Ensure(ctx context.Context, s *Scope) Outcome {
	if p := s.Config.Problem; p != nil {
		return NotReached(p.Reason, p.Message)
	}
	in := s.target(s.Process().Container)
	blobs := []transport.Blob{st.Artifacts.Agent, st.Artifacts.Implementation, s.Config.Blob}

	present, err := st.Helper.Run(ctx, in, attach.VerbInspect, attach.Request{Files: files(blobs)})
	if err != nil {
		return failed(err)
	}
	missing := without(blobs, present.Files)
	if len(missing) > 0 {
		if _, err := st.Helper.Run(ctx, in, attach.VerbStage, attach.Request{Files: files(missing)}, missing...); err != nil {
			return failed(err)
		}
	}
	s.Status().Staged = new(st.wanted(s))
	return Reached("Agent and configuration lie in container " + in.Name + ", verified.")
}

func (st Stage) wanted(s *Scope) v1alpha1.StagedFiles {
	return v1alpha1.StagedFiles{
		AgentSHA256:          st.Artifacts.Agent.SHA256,
		ImplementationSHA256: st.Artifacts.Implementation.SHA256,
		ConfigSHA256:         s.Config.SHA256,
	}
}

func files(blobs []transport.Blob) []attach.File {
	out := make([]attach.File, len(blobs))
	for i, b := range blobs {
		out[i] = b.File
	}
	return out
}

func without(blobs []transport.Blob, present []attach.File) []transport.Blob {
	lie := map[attach.File]bool{}
	for _, f := range present {
		lie[f] = true
	}
	var missing []transport.Blob
	for _, b := range blobs {
		if !lie[b.File] {
			missing = append(missing, b)
		}
	}
	return missing
}
