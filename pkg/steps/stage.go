package steps

import (
	"context"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// Stage copies the agent and its configuration into the container of a JVM.
type Stage struct{ Tools }

// Phase implements statemachine.Step.
func (Stage) Phase() statemachine.Phase { return Staged }

// OnlyObserves implements statemachine.Observer: files are named by their digests, and
// existing ones are not written again.
func (Stage) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (t Stage) Ensure(ctx context.Context, j *JVM) statemachine.Outcome {
	if j.Process.Adopted || j.keepsStaged() {
		return record.Done()
	}
	if p := j.Problem(); p != nil {
		return record.NotDone(p.Reason, p.Message)
	}
	missing, err := t.missing(ctx, j)
	if err != nil {
		return failed(err)
	}
	if len(missing) > 0 {
		if err := j.at().CheckSpace(missing...); err != nil {
			return failed(err)
		}
		if missing, err = transport.Loaded(ctx, missing); err != nil {
			return failed(err)
		}
		request := j.withTmp(j.Process.Container, helperapi.Request{Target: targetOf(j.Process), Files: files(missing), MemoryHeadroom: pod.MemoryHeadroom(j.Exporter), PodMemory: pod.MemoryFor(j.Pod, j.Process.Container)})
		if _, err := t.run(ctx, j.Situation, j.at(), helperapi.VerbStage, request, missing...); err != nil {
			return failed(err)
		}
		j.foundFiles(j.Process.Container, files(j.blobs()))
	}
	j.Process.Staged = new(j.files())
	return record.Done()
}

// Undo implements statemachine.Step. The files were removed with the agent.
func (Stage) Undo(_ context.Context, j *JVM) statemachine.Outcome {
	j.Process.Staged = nil
	return record.Done()
}

// missing returns the files that the container of the JVM lacks. It asks the container
// unless this reconcile already knows.
func (t Stage) missing(ctx context.Context, j *JVM) ([]transport.Blob, error) {
	present, known := j.present[j.Process.Container]
	if !known {
		report, err := t.run(ctx, j.Situation, j.at(), helperapi.VerbInspect, helperapi.Request{Files: files(j.blobs())})
		if err != nil {
			return nil, err
		}
		present = report.Files
		j.foundFiles(j.Process.Container, present)
	}
	return slices.DeleteFunc(j.blobs(), func(b transport.Blob) bool { return slices.Contains(present, b.File) }), nil
}

// blobs returns the files that an agent runs from.
func (s *Situation) blobs() []transport.Blob {
	blobs := []transport.Blob{s.Artifacts.Agent, s.Artifacts.Implementation, s.Config.Blob}
	if s.Security.SHA256 != "" {
		blobs = append(blobs, s.Security.Blob)
	}
	return blobs
}

// aboutToStage returns the files that an inspection of a container looks for, so that
// staging need not ask again; none if nothing is about to be staged.
func (s *Situation) aboutToStage(c pod.Container) []helperapi.File {
	staged := func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == c.ID && p.Staged != nil }
	if !s.granted() || s.Problem() != nil || s.Find(staged) != nil {
		return nil
	}
	return files(s.blobs())
}

// foundFiles notes which files a container has.
func (s *Situation) foundFiles(container string, files []helperapi.File) {
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
