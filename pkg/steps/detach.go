package steps

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// Detach are the decisions about a pod that no longer belongs to the exporter of its
// record: it is led back to the start, annotations first.
var Detach = []Decision{AwaitHalt, Release, UndoAll}

// The moves of a detach that are more than a Change.
type (
	// Hold writes the record as it is, and ends the reconcile. The next one follows after a
	// time; after an event only, if that is 0.
	Hold struct{ After time.Duration }
	// PersistDetaching records that the pod is being detached, before the first operation
	// in it: its timeout starts there.
	PersistDetaching struct{}
	// FindAgents adds the processes that have an agent of the operator to a record that
	// was lost.
	FindAgents struct{}
	// Undo takes a JVM back to the start.
	Undo struct {
		Process record.ProcessIdentity
		// Agent says where the agent is that this stops; empty for none.
		Agent string
	}
)

// haltTimeout is how long a record waits until its exit is counted, before it checks
// whether it still has to.
const haltTimeout = 5 * time.Second

// AwaitHalt keeps the record of a pod that failed soon after an attach until its rollout
// is paused or halted: if the pod is not restarted, it fails as a whole, and only its record shows
// the cause. It does not wait if the exporter is being deleted or no longer selects the
// pod, if the revision is no longer the exporter's, or if the exit is not counted for long.
func AwaitHalt(s *Situation) ([]Move, error) {
	exporter, status := s.Former, s.Status()
	if exporter == nil || s.Pod.Status.Phase != corev1.PodFailed || exporter.Status.Halt != nil ||
		exporter.Status.Revision != status.Revision || s.Attachment.Spec.Revision != status.Revision {
		return nil, nil
	}
	resume := Resume(exporter)
	if status.Restart != nil && status.Resume != resume { // a person has looked at it
		return nil, nil
	}
	restart := s.restartOf(exporter, func(*v1alpha1.JavaProcess) bool { return true })
	if restart == nil || listed(exporter, s.Pod.UID, restart) || restart.Time != nil && s.Now.Sub(restart.Time.Time) >= provenAfter {
		return nil, nil
	}
	return []Move{NoteFailure{restart, resume}, Hold{haltTimeout}}, nil
}

// MaxRestarts is the maximum number of pods in status.restarts. A list that is full takes
// no more.
const MaxRestarts = 100

// listed reports whether an exit in a pod is in the status of the exporter.
func listed(exporter *v1alpha1.PrometheusJmxExporter, uid types.UID, exit *v1alpha1.Restart) bool {
	restarts := exporter.Status.Restarts
	return restarts != nil && restarts.Revision == exporter.Status.Revision && restarts.Resume == Resume(exporter) &&
		(len(restarts.Pods) >= MaxRestarts ||
			slices.ContainsFunc(restarts.Pods, func(p v1alpha1.RestartedPod) bool { return p.UID == uid && p.Process == exit.Process }))
}

// NoteFailure records an exit soon after an attach that ended the pod.
type NoteFailure struct {
	Restart *v1alpha1.Restart
	// Resume is the digest of the annotation that resumes the rollout, as it was then.
	Resume string
}

// Apply implements Change.
func (m NoteFailure) Apply(s *Situation) error {
	s.Status().Restart, s.Status().Resume = m.Restart, m.Resume
	return nil
}

// defaultDetachTimeout is the default of spec.detach.timeout, for a record whose
// exporter was never read.
const defaultDetachTimeout = 2 * time.Minute

// Release decides, before anything is stopped, what no longer points to the pod: the
// annotations go first. A record that was lost is completed. One that outlives its detach,
// because a finalizer keeps it, is tried again only after a time.
func Release(s *Situation) ([]Move, error) {
	if a := s.Begun.Attempt; s.DetachIsOver() && a != nil && a.NextTime != nil && a.NextTime.After(s.Time) {
		return []Move{Hold{a.NextTime.Sub(s.Time)}}, nil
	}
	d := draftOf(s)
	switch status := d.Status(); {
	case status.DetachStartTime == nil:
		m := BeginDetach{At: d.Now, Timeout: status.DetachTimeout}
		if status.Phase == "" {
			m.Timeout.Duration = defaultDetachTimeout
		}
		d.add(m)
	case s.DetachIsOver():
		d.add(TryAgain{})
	}
	var ended []record.ProcessIdentity
	for _, p := range d.Filter(func(p *v1alpha1.JavaProcess) bool { return !record.Runs(d.Pod, p) }) {
		ended = append(ended, record.Identity(p))
	}
	if len(ended) > 0 {
		d.add(Drop{ended})
	}
	if s.recordLost() {
		d.add(PersistDetaching{})
		d.add(FindAgents{})
	}
	d.add(Withdraw{})
	return d.moves, d.err
}

// UndoAll decides which JVMs are taken back to the start: all of them.
func UndoAll(s *Situation) ([]Move, error) {
	var moves []Move
	if len(s.Agents()) > 0 {
		moves = append(moves, PersistDetaching{})
	}
	for _, p := range s.Processes() {
		undo := Undo{Process: record.Identity(p)}
		if slices.Contains(s.Agents(), p) {
			undo.Agent = Place(p)
		}
		moves = append(moves, undo)
	}
	return moves, nil
}

// BeginDetach records the start of a detach. Attempts of the way forward no longer count.
type BeginDetach struct {
	At      metav1.Time
	Timeout metav1.Duration
}

// Apply implements Change.
func (m BeginDetach) Apply(s *Situation) error {
	status := s.Status()
	status.DetachStartTime, status.DetachTimeout, status.Attempt = &m.At, m.Timeout, nil
	for _, p := range s.Processes() {
		p.Attempt = nil
	}
	return nil
}

// TryAgain ends all backoffs: everything is tried one last time.
type TryAgain struct{}

// Apply implements Change.
func (TryAgain) Apply(s *Situation) error {
	for _, p := range s.Processes() {
		if p.Attempt != nil {
			p.Attempt.NextTime = nil
		}
	}
	return nil
}

// DetachIsOver reports whether the timeout of the detach had passed when the reconcile
// began.
func (s *Situation) DetachIsOver() bool {
	begun := s.Begun.DetachStartTime
	return begun != nil && s.Time.Sub(begun.Time) >= s.Begun.DetachTimeout.Duration
}

// recordLost reports whether the pod may have agents that the record does not know,
// because the record was recreated: to detach the pod (internal/controller/orphan), or
// without having inspected all containers since. Otherwise a pod that was never inspected
// has nothing of the operator in it.
func (s *Situation) recordLost() bool {
	if len(record.UnseenPorts(s.Begun)) > 0 {
		return true
	}
	marked := s.Begun.DetachStartTime != nil || s.flagged()
	if !slices.ContainsFunc(s.Begun.Containers, func(c v1alpha1.InspectedContainer) bool { return c.Time != nil }) {
		return marked || s.Begun.Revision != "" || len(s.Begun.Processes) > 0 || s.Attachment.Spec.Exporter.UID == ""
	}
	attached := slices.ContainsFunc(s.Begun.Processes, func(p v1alpha1.JavaProcess) bool { return p.Intent != nil || p.Adopted })
	found := slices.ContainsFunc(s.Begun.Processes, func(p v1alpha1.JavaProcess) bool { return p.AgentFound })
	return !record.EndpointsKnown(s.Begun) && !attached && (marked || found)
}

// Place says where a process is, for the middle of a sentence.
func Place(p *v1alpha1.JavaProcess) string {
	return fmt.Sprintf("process %d of container %s (port %d)", p.PID, p.Container, p.Port)
}
