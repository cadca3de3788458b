package steps

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// ProcessIdentity identifies one process of a pod, but not a later one with the same
// PID.
type ProcessIdentity struct {
	ContainerID string
	PID         int32
	StartTime   int64
}

// Identity returns the identity of a process in the record.
func Identity(p *v1alpha1.JavaProcess) ProcessIdentity {
	return ProcessIdentity{p.ContainerID, p.PID, p.StartTime}
}

// Fingerprint returns the identity of a process as its agent reports it: of fixed
// length, and without names.
func Fingerprint(p *v1alpha1.JavaProcess) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", p.ContainerID, p.PID, p.StartTime))
	return hex.EncodeToString(sum[:8])
}

// Runs reports whether the container in which the process was found is still running.
func Runs(pod *corev1.Pod, p *v1alpha1.JavaProcess) bool {
	return slices.Contains(running(pod), container{name: p.Container, id: p.ContainerID})
}

// MayHaveAgent reports whether the operator's agent is in the process or may be: it was
// found there, or its load was begun.
func MayHaveAgent(p *v1alpha1.JavaProcess) bool {
	return (p.AgentFound || p.Intent != nil) && !p.Adopted
}

// Refused reports whether the process needs a person, so that its pod proceeds without
// it. A reason that halts the rollout is never passed over.
func Refused(p *v1alpha1.JavaProcess) bool {
	return v1alpha1.NeedsPerson(p.Reason) && !v1alpha1.Halts(p.Reason)
}

// Filter returns the processes of the record that match, in order.
func (s *Scope) Filter(match func(*v1alpha1.JavaProcess) bool) []*v1alpha1.JavaProcess {
	var matching []*v1alpha1.JavaProcess
	for i := range s.Status().Processes {
		if p := &s.Status().Processes[i]; match(p) {
			matching = append(matching, p)
		}
	}
	return matching
}

// find returns the first process of the record that matches; nil if there is none.
func (s *Scope) find(match func(*v1alpha1.JavaProcess) bool) *v1alpha1.JavaProcess {
	for i := range s.Status().Processes {
		if p := &s.Status().Processes[i]; match(p) {
			return p
		}
	}
	return nil
}

// Chosen returns the processes to attach to or adopt, the primary one first.
func (s *Scope) Chosen() []*v1alpha1.JavaProcess {
	return s.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded && !Refused(p) })
}

// attachable returns the processes that can be attached to, according to the inspection.
func (s *Scope) attachable() []*v1alpha1.JavaProcess {
	return s.Filter(func(p *v1alpha1.JavaProcess) bool {
		return !p.Excluded && Plan.Reached(statemachine.Phase(p.Phase), JavaFound)
	})
}

// summed returns the processes that determine the pod's phase: the selected ones that
// are not refused or, if all are refused, those.
func (s *Scope) summed() []*v1alpha1.JavaProcess {
	if chosen := s.Chosen(); len(chosen) > 0 {
		return chosen
	}
	return s.attachable()
}

// Known returns the record's entry of a process; nil if there is none.
func (s *Scope) Known(id ProcessIdentity) *v1alpha1.JavaProcess {
	return s.find(func(p *v1alpha1.JavaProcess) bool { return Identity(p) == id })
}

// Drop removes processes from the record.
func (s *Scope) Drop(match func(*v1alpha1.JavaProcess) bool) {
	status := s.Status()
	status.Processes = slices.DeleteFunc(status.Processes, func(p v1alpha1.JavaProcess) bool { return match(&p) })
}

// sort puts the primary process first, then those to attach to, then refused ones, then
// excluded ones, each in the order of their containers.
func (s *Scope) sort() {
	order := running(s.Pod)
	at := func(p *v1alpha1.JavaProcess) int {
		return slices.IndexFunc(order, func(c container) bool { return c.name == p.Container })
	}
	rank := func(p *v1alpha1.JavaProcess) int {
		switch {
		case p.Excluded:
			return 3
		case Refused(p):
			return 2
		case p.Primary:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(s.Status().Processes, func(a, b v1alpha1.JavaProcess) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(at(&a), at(&b)))
	})
}

func target(p *v1alpha1.JavaProcess) *helperapi.Target {
	return &helperapi.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)}
}
