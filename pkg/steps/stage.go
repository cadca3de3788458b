package steps

import (
	"context"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Stage brings agent and configuration into the container of a JVM.
type Stage struct{}

// Phase implements statemachine.Step.
func (Stage) Phase() statemachine.Phase { return Staged }

// OnlyObserves implements statemachine.Observer: files are named by their digests, and
// those that lie there already are not written again.
func (Stage) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (Stage) Ensure(ctx context.Context, j *JVM) statemachine.Outcome {
	if j.Process.Adopted || j.keepsStaged() {
		return Done()
	}
	if p := j.Config.Problem; p != nil {
		return NotDone(p.Reason, p.Message)
	}
	blobs := []transport.Blob{j.Artifacts.Agent, j.Artifacts.Implementation, j.Config.Blob}
	present, err := j.Helper.Run(ctx, j.at(), helperapi.VerbInspect, helperapi.Request{Files: files(blobs)})
	if err != nil {
		return failed(err)
	}
	missing := slices.DeleteFunc(blobs, func(b transport.Blob) bool { return slices.Contains(present.Files, b.File) })
	if len(missing) > 0 {
		if err := j.at().CheckSpace(missing...); err != nil {
			return failed(err)
		}
		request := j.withTmp(j.Process.Container, helperapi.Request{Files: files(missing), MemoryHeadroom: memoryHeadroom(j.Exporter)})
		if _, err := j.Helper.Run(ctx, j.at(), helperapi.VerbStage, request, missing...); err != nil {
			return failed(err)
		}
	}
	j.Process.Staged = new(j.files())
	return Done()
}

// Undo implements statemachine.Step: the files went with the agent.
func (Stage) Undo(_ context.Context, j *JVM) statemachine.Outcome {
	j.Process.Staged = nil
	return Done()
}

func files(blobs []transport.Blob) []helperapi.File {
	out := make([]helperapi.File, len(blobs))
	for i, b := range blobs {
		out[i] = b.File
	}
	return out
}
