package steps

import (
	"context"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Stage copies the agent and its configuration into the container of a JVM.
type Stage struct{}

// Phase implements statemachine.Step.
func (Stage) Phase() statemachine.Phase { return Staged }

// OnlyObserves implements statemachine.Observer: files are named by their digests, and
// existing ones are not written again.
func (Stage) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (Stage) Ensure(ctx context.Context, j *JVM) statemachine.Outcome {
	if j.Process.Adopted || j.keepsStaged() {
		return Done()
	}
	if p := j.Problem(); p != nil {
		return NotDone(p.Reason, p.Message)
	}
	missing, err := j.missing(ctx)
	if err != nil {
		return failed(err)
	}
	if len(missing) > 0 {
		if err := j.at().CheckSpace(missing...); err != nil {
			return failed(err)
		}
		request := j.withTmp(j.Process.Container, helperapi.Request{Target: target(j.Process), Files: files(missing), MemoryHeadroom: memoryHeadroom(j.Exporter)})
		if _, err := j.Helper.Run(ctx, j.at(), helperapi.VerbStage, request, missing...); err != nil {
			return failed(err)
		}
		j.foundFiles(j.Process.Container, files(j.blobs()))
	}
	j.Process.Staged = new(j.files())
	return Done()
}

// Undo implements statemachine.Step. The files were removed with the agent.
func (Stage) Undo(_ context.Context, j *JVM) statemachine.Outcome {
	j.Process.Staged = nil
	return Done()
}

// missing returns the files that the container of the JVM lacks. It asks the container
// unless this reconcile already knows.
func (j *JVM) missing(ctx context.Context) ([]transport.Blob, error) {
	present, known := j.present[j.Process.Container]
	if !known {
		report, err := j.Helper.Run(ctx, j.at(), helperapi.VerbInspect, helperapi.Request{Files: files(j.blobs())})
		if err != nil {
			return nil, err
		}
		present = report.Files
		j.foundFiles(j.Process.Container, present)
	}
	return slices.DeleteFunc(j.blobs(), func(b transport.Blob) bool { return slices.Contains(present, b.File) }), nil
}

// blobs returns the files that an agent runs from.
func (s *Scope) blobs() []transport.Blob {
	blobs := []transport.Blob{s.Artifacts.Agent, s.Artifacts.Implementation, s.Config.Blob}
	if s.Security.SHA256 != "" {
		blobs = append(blobs, s.Security.Blob)
	}
	return blobs
}

// aboutToStage returns the files that an inspection of a container looks for, so that
// staging need not ask again; none if nothing is about to be staged.
func (s *Scope) aboutToStage(c container) []helperapi.File {
	staged := func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == c.id && p.Staged != nil }
	if !s.Granted || s.Problem() != nil || s.find(staged) != nil {
		return nil
	}
	return files(s.blobs())
}

// foundFiles notes which files a container has.
func (s *Scope) foundFiles(container string, files []helperapi.File) {
	if s.present == nil {
		s.present = map[string][]helperapi.File{}
	}
	s.present[container] = files
}

func files(blobs []transport.Blob) []helperapi.File {
	out := make([]helperapi.File, len(blobs))
	for i, b := range blobs {
		out[i] = b.File
	}
	return out
}
