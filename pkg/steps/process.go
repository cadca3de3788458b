package steps

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
)

// ProcessIdentity names one process of a pod and no later one with its PID.
type ProcessIdentity struct {
	ContainerID string
	PID         int32
	StartTime   int64
}

// Identity is the identity of a process in the record.
func Identity(p *v1alpha1.JavaProcess) ProcessIdentity {
	return ProcessIdentity{p.ContainerID, p.PID, p.StartTime}
}

// fingerprint is the identity of a process as its agent is told it: of one length,
// and without a name in it.
func fingerprint(p *v1alpha1.JavaProcess) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", p.ContainerID, p.PID, p.StartTime))
	return hex.EncodeToString(sum[:8])
}

// Runs tells whether the container that the process was found in still runs.
func Runs(pod *corev1.Pod, p *v1alpha1.JavaProcess) bool {
	return slices.Contains(running(pod), container{name: p.Container, id: p.ContainerID})
}

// Ours tells whether an agent of ours is in the process, or may be: it was found
// there, or its load was begun.
func Ours(p *v1alpha1.JavaProcess) bool { return (p.AgentFound || p.Intent != nil) && !p.Adopted }

// Chosen are the processes to be attached to, or adopted, the first first.
func (s *Scope) Chosen() []*v1alpha1.JavaProcess {
	return s.those(func(p *v1alpha1.JavaProcess) bool { return p.Refusal == "" })
}

// toLoad are those of them that get an agent of ours.
func (s *Scope) toLoad() []*v1alpha1.JavaProcess {
	return s.those(func(p *v1alpha1.JavaProcess) bool { return p.Refusal == "" && !p.Adopted })
}

func (s *Scope) those(meant func(*v1alpha1.JavaProcess) bool) []*v1alpha1.JavaProcess {
	var those []*v1alpha1.JavaProcess
	for i := range s.Status().Processes {
		if p := &s.Status().Processes[i]; meant(p) {
			those = append(those, p)
		}
	}
	return those
}

// known is what the record has of a process; nil if it has nothing.
func (s *Scope) known(id ProcessIdentity) *v1alpha1.JavaProcess {
	for i := range s.Status().Processes {
		if p := &s.Status().Processes[i]; Identity(p) == id {
			return p
		}
	}
	return nil
}

// Forget drops processes from the record.
func (s *Scope) Forget(gone func(*v1alpha1.JavaProcess) bool) {
	status := s.Status()
	status.Processes = slices.DeleteFunc(status.Processes, func(p v1alpha1.JavaProcess) bool { return gone(&p) })
}

// files are what the process's agent shall run from: what the exporter says
// now, or until its turn has come what lies there.
func (s *Scope) files(artifacts *Artifacts, p *v1alpha1.JavaProcess) v1alpha1.StagedFiles {
	if !s.Granted && p.Staged != nil {
		return *p.Staged
	}
	return v1alpha1.StagedFiles{
		AgentSHA256:          artifacts.Agent.SHA256,
		ImplementationSHA256: artifacts.Implementation.SHA256,
		ConfigSHA256:         s.Config.SHA256,
	}
}

// port is the port to ask for: the exporter's for the first process, 0 for one
// that is chosen in the pod.
func (s *Scope) port(p *v1alpha1.JavaProcess) int32 {
	switch {
	case !s.Granted && p.Intent != nil:
		return p.Intent.Port
	case p.First:
		return s.Exporter.Spec.Port
	default:
		return 0
	}
}

// avoid are the ports that are not to be chosen for the process: those of the pod's
// other processes, and those that the pod declares, which the application may be
// about to open.
func (s *Scope) avoid(p *v1alpha1.JavaProcess) []int32 {
	var ports []int32
	for _, other := range s.Chosen() {
		if other == p {
			continue
		}
		if other.Port != 0 {
			ports = append(ports, other.Port)
		}
		if !other.Adopted && s.port(other) != 0 {
			ports = append(ports, s.port(other))
		}
	}
	for _, c := range slices.Concat(s.Pod.Spec.Containers, s.Pod.Spec.InitContainers) {
		for _, port := range c.Ports {
			ports = append(ports, port.ContainerPort)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

func target(p *v1alpha1.JavaProcess) *attach.Target {
	return &attach.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)}
}

// trial is how a step went for one process.
type trial struct {
	process *v1alpha1.JavaProcess
	Outcome
}

// together decides for all processes of a pod by how it went for each. One that
// cannot be done for good, or not for a while, is left alone, as long as another
// is there: it must not keep the metrics of the others away. Who is left alone
// keeps the endpoint that it has. The first one, whose endpoint the annotations
// name, is not left alone while it has one, and a reason that halts the rollout is
// never passed over.
func (s *Scope) together(phase v1alpha1.Phase, trials []trial, done func() Outcome) Outcome {
	var failed []trial
	for _, t := range trials {
		if t.Kind != Done {
			failed = append(failed, t)
		}
	}
	// What may pass comes first: a pod is refused for good only when all are.
	slices.SortStableFunc(failed, func(a, b trial) int { return cmp.Compare(a.Kind, b.Kind) })
	for _, t := range failed {
		alone := len(failed) == len(s.Chosen())
		mayPass := t.Kind != Stop && s.tries(phase) < patience
		if alone || mayPass || t.process.First && t.process.Endpoint != nil || v1alpha1.Halts(t.Reason) {
			return t.Outcome
		}
	}
	for _, t := range failed {
		t.process.Refusal = t.Reason
		if inspected := s.Status().Inspected; inspected != nil && t.Kind != Stop {
			inspected.Incomplete = true
		}
	}
	outcome := done()
	for _, t := range failed {
		outcome.Message += " " + leftAlone(t.process.Container, t.Outcome)
	}
	return outcome
}

// patience is how often what may pass is waited for in one process or container,
// before the others go on without it.
const patience = 4

// tries counts the attempts made to reach the phase so far.
func (s *Scope) tries(phase v1alpha1.Phase) int32 {
	if s.Waited {
		return patience
	}
	if a := s.Status().Attempt; a != nil && a.Phase == phase {
		return a.Count
	}
	return 0
}

func leftAlone(container string, o Outcome) string {
	return fmt.Sprintf("Left alone in container %s: %s.", container, o.Reason)
}

// named puts the container before the message, where there are several to name.
func (s *Scope) named(p *v1alpha1.JavaProcess, o Outcome) Outcome {
	if o.Kind != Done && len(s.Chosen()) > 1 {
		o.Message = fmt.Sprintf("Container %s, process %d: %s", p.Container, p.PID, o.Message)
	}
	return o
}
