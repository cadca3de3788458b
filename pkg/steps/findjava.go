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
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
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
	seen := sighting{withoutJava: len(containers)}
	for _, c := range containers {
		report, err := f.Helper.Run(ctx, s.target(c.name), attach.VerbInspect, attach.Request{})
		if err != nil {
			outcome := failed(err)
			if outcome.Reason == v1alpha1.ReasonQueued || seen.mayPass(s, outcome) {
				return in(c, outcome)
			}
			seen.obstacles = append(seen.obstacles, obstacle{c.name, outcome})
			seen.withoutJava--
			continue
		}
		if len(report.Processes) > 0 {
			seen.withoutJava--
		}
		for _, p := range report.Processes {
			if p.Refusal != nil {
				outcome := NotReached(string(p.Refusal.Reason), p.Refusal.Message)
				if seen.mayPass(s, outcome) {
					return in(c, outcome)
				}
				seen.obstacles = append(seen.obstacles, obstacle{c.name, outcome})
			}
			seen.found = append(seen.found, javaProcess(c, p))
		}
	}
	// Those that can be attached to first, each kind in the order of the containers.
	slices.SortStableFunc(seen.found, func(a, b v1alpha1.JavaProcess) int {
		return cmp.Compare(refused(a), refused(b))
	})
	s.Status().Processes = seen.found[:min(len(seen.found), maxProcesses)]
	return seen.outcome()
}

const (
	// maxProcesses is what a record holds, as its schema says.
	maxProcesses = 64
	// patience is how often what may pass is waited for in one container,
	// before the others are looked at without it.
	patience = 4
)

// tries counts the attempts made to reach the phase so far.
func tries(s *Scope) int32 {
	if a := s.Status().Attempt; a != nil && a.Phase == v1alpha1.PhaseJavaFound {
		return a.Count
	}
	return 0
}

// sighting is what was found in a pod's containers.
type sighting struct {
	// found are the Java processes, those that can be attached to first.
	found []v1alpha1.JavaProcess
	// obstacles are what stood in the way, in the order of the containers.
	obstacles []obstacle
	// withoutJava counts the containers that could be inspected and run no
	// Java process, or not yet.
	withoutJava int
}

// obstacle is what stood in the way in one container.
type obstacle struct {
	container string
	outcome   Outcome
}

// mayPass tells whether to wait for what stands in the way in one container: a JVM
// that is starting, an exec that broke off. A container after it is not to take
// its place for that.
func (v *sighting) mayPass(s *Scope, o Outcome) bool {
	return o.Kind != Stop && tries(s) < patience &&
		!slices.ContainsFunc(v.found, func(p v1alpha1.JavaProcess) bool { return p.Refusal == "" })
}

// outcome is decided by the first process that can be attached to. Without one
// it is what may pass by itself, so that a pod is refused for good only when no
// container is left in which a JVM could be about to start.
func (v *sighting) outcome() Outcome {
	if len(v.found) > 0 && v.found[0].Refusal == "" {
		return Reached(describe(v.found[0], v.obstacles))
	}
	for _, o := range v.obstacles {
		if o.outcome.Kind != Stop {
			return in(container{name: o.container}, o.outcome)
		}
	}
	// A JVM that refuses decides; a container that cannot be looked into does
	// not, as long as another may be about to start one.
	for _, o := range v.obstacles {
		if len(v.found) == 0 && v.withoutJava == 0 || len(v.found) > 0 && o.outcome.Reason == v.found[0].Refusal {
			return in(container{name: o.container}, o.outcome)
		}
	}
	return NotReached(v1alpha1.ReasonNoJavaProcess, strings.Join(append(
		[]string{"No container of the pod runs a Java process."}, leftAlone(v.obstacles)...), " "))
}

func in(c container, o Outcome) Outcome {
	o.Message = fmt.Sprintf("Container %s: %s", c.name, o.Message)
	o.Back = ""
	return o
}

func refused(p v1alpha1.JavaProcess) int {
	if p.Refusal == "" {
		return 0
	}
	return 1
}

func javaProcess(c container, p attach.Process) v1alpha1.JavaProcess {
	found := v1alpha1.JavaProcess{
		Container: c.name, ContainerID: c.id,
		PID: int32(p.PID), StartTime: int64(p.StartTime), UID: int64(p.UID), GID: int64(p.GID),
		Implementation: text.Cut(p.Implementation, 64), Vendor: text.Cut(p.Vendor, 128),
		Version: text.Cut(p.Version, 64), MainClass: text.Cut(p.MainClass, 512),
	}
	if p.Refusal != nil {
		found.Refusal = text.Cut(string(p.Refusal.Reason), 64)
	}
	return found
}

func describe(p v1alpha1.JavaProcess, obstacles []obstacle) string {
	what := strings.TrimSpace(strings.Join([]string{p.Implementation, p.Version}, " "))
	runs := fmt.Sprintf("%s runs %s in container %s.", what, cmp.Or(p.MainClass, "a Java program"), p.Container)
	return strings.Join(append([]string{runs}, leftAlone(obstacles)...), " ")
}

func leftAlone(obstacles []obstacle) []string {
	var sentences []string
	for _, o := range obstacles {
		sentences = append(sentences, fmt.Sprintf("Left alone in container %s: %s.", o.container, o.outcome.Reason))
	}
	return sentences
}
