package steps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// FindJava inspects every running container and identifies the first Java
// process that can be attached to.
type FindJava struct{ Helper Helper }

// Phase implements Step.
func (FindJava) Phase() statemachine.Phase { return statemachine.JavaFound }

// Lost implements Step: the process ended with its container.
func (FindJava) Lost(s *Scope) statemachine.Event {
	p := s.Process()
	if p != nil && slices.Contains(s.containers(), container{name: p.Container, id: p.ContainerID}) {
		return ""
	}
	return statemachine.Replaced
}

// Ensure implements Step.
func (f FindJava) Ensure(ctx context.Context, s *Scope) Outcome {
	containers := s.containers()
	if len(containers) == 0 {
		return NotReached(v1alpha1.ReasonContainerNotRunning, "No container of the pod is running.")
	}
	var found []v1alpha1.JavaProcess
	var obstacles []obstacle
	for _, c := range containers {
		processes, err := f.inspect(ctx, s, c)
		if err != nil {
			obstacles = append(obstacles, obstacle{container: c.name, outcome: failed(err)})
		}
		for _, p := range processes {
			found = append(found, javaProcess(c, p))
			if p.Refusal != nil {
				obstacles = append(obstacles, obstacle{c.name, NotReached(string(p.Refusal.Reason), p.Refusal.Message)})
			}
		}
	}
	// Those that can be attached to first, each kind in the order of the containers.
	slices.SortStableFunc(found, func(a, b v1alpha1.JavaProcess) int {
		return cmp.Compare(refused(a), refused(b))
	})
	s.Status().Processes = found[:min(len(found), maxProcesses)]
	if len(found) > 0 && found[0].Refusal == "" {
		return Reached(describe(found[0], obstacles))
	}
	return worst(obstacles)
}

func refused(p v1alpha1.JavaProcess) int {
	if p.Refusal == "" {
		return 0
	}
	return 1
}

// maxProcesses is what a record holds, as its schema says.
const maxProcesses = 64

func (f FindJava) inspect(ctx context.Context, s *Scope, c container) ([]attach.Process, error) {
	report, err := f.Helper.Run(ctx, s.target(c.name), attach.VerbInspect, attach.Request{})
	if err != nil {
		return nil, err
	}
	return report.Processes, nil
}

func javaProcess(c container, p attach.Process) v1alpha1.JavaProcess {
	found := v1alpha1.JavaProcess{
		Container: c.name, ContainerID: c.id,
		PID: int32(p.PID), StartTime: int64(p.StartTime), UID: int64(p.UID), GID: int64(p.GID),
		Implementation: cut(p.Implementation, 64), Vendor: cut(p.Vendor, 128),
		Version: cut(p.Version, 64), MainClass: cut(p.MainClass, 512),
	}
	if p.Refusal != nil {
		found.Refusal = cut(string(p.Refusal.Reason), 64)
	}
	return found
}

// obstacle is what stood in the way in one container.
type obstacle struct {
	container string
	outcome   Outcome
}

// worst is the Outcome when no process can be attached to: the first obstacle
// that a person must remove, else the first at all.
func worst(obstacles []obstacle) Outcome {
	if len(obstacles) == 0 {
		return NotReached(v1alpha1.ReasonNoJavaProcess, "No container of the pod runs a Java process.")
	}
	chosen := obstacles[0]
	for _, o := range obstacles {
		if o.outcome.Kind == Stop && chosen.outcome.Kind != Stop {
			chosen = o
		}
	}
	o := chosen.outcome
	o.Message = fmt.Sprintf("Container %s: %s", chosen.container, o.Message)
	o.Back = ""
	return o
}

func describe(p v1alpha1.JavaProcess, obstacles []obstacle) string {
	what := strings.TrimSpace(strings.Join([]string{p.Implementation, p.Version}, " "))
	sentences := []string{fmt.Sprintf("%s runs %s in container %s.", what, cmp.Or(p.MainClass, "a Java program"), p.Container)}
	for _, o := range obstacles {
		sentences = append(sentences, fmt.Sprintf("Left alone in container %s: %s.", o.container, o.outcome.Reason))
	}
	return strings.Join(sentences, " ")
}

func cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
