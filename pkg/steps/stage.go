package steps

import (
	"context"
	"slices"

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
	if s.Config.Problem != nil {
		return statemachine.ConfigChanged
	}
	for _, p := range s.toLoad() {
		if p.Staged == nil || *p.Staged != s.files(st.Artifacts, p) {
			return statemachine.ConfigChanged
		}
	}
	return ""
}

// Ensure implements Step.
func (st Stage) Ensure(ctx context.Context, s *Scope) Outcome {
	if p := s.Config.Problem; p != nil {
		return NotReached(p.Reason, p.Message)
	}
	var trials []trial
	for _, p := range s.toLoad() {
		outcome := st.stage(ctx, s, p.Container)
		if outcome.Reason == v1alpha1.ReasonQueued {
			return outcome
		}
		if outcome.Kind == Done {
			p.Staged = new(s.files(st.Artifacts, p))
		}
		trials = append(trials, trial{p, s.named(p, outcome)})
	}
	return s.together(v1alpha1.PhaseStaged, trials, func() Outcome {
		if len(s.toLoad()) == 0 {
			return Reached("Nothing is staged: the stock exporter is left as it is.")
		}
		return Reached("Agent and configuration lie in container " + containersOf(s.toLoad()) + ", verified.")
	})
}

// stage brings the files into one container that are not there yet.
func (st Stage) stage(ctx context.Context, s *Scope, name string) Outcome {
	in := Target(s.Pod, name)
	blobs := []transport.Blob{st.Artifacts.Agent, st.Artifacts.Implementation, s.Config.Blob}
	present, err := st.Helper.Run(ctx, in, attach.VerbInspect, attach.Request{Files: files(blobs)})
	if err != nil {
		return failed(err)
	}
	missing := without(blobs, present.Files)
	if len(missing) == 0 {
		return Outcome{Kind: Done}
	}
	if _, err := st.Helper.Run(ctx, in, attach.VerbStage, attach.Request{Files: files(missing)}, missing...); err != nil {
		return failed(err)
	}
	return Outcome{Kind: Done}
}

// containersOf names the containers of processes, each once.
func containersOf(processes []*v1alpha1.JavaProcess) string {
	var names []v1alpha1.ContainerName
	for _, p := range processes {
		if name := v1alpha1.ContainerName(p.Container); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return joined(names)
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
