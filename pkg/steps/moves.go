package steps

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Move is one thing to do, as data: decisions answer with moves, and the attachment
// controller executes them in order.
type Move any

// Change is a Move that changes nothing but the record.
type Change interface {
	// Apply changes the record. It decides nothing, and reaches nothing else.
	Apply(*Situation) error
}

// The moves of an attachment that are more than a Change.
type (
	// Withdraw removes the operator's annotations from the pod.
	Withdraw struct{}
	// Persist writes the record, with its phase and conditions.
	Persist struct{}
	// Inspect ensures FindJava again, although its phase holds.
	Inspect struct{}
	// WalkPod leads the pod's own phases forward.
	WalkPod struct {
		To statemachine.Phase
		// Tried is the outcome of FindJava if it was ensured just now; nil otherwise.
		Tried *statemachine.Outcome
	}
	// Forward leads a JVM to its endpoint.
	Forward struct{ Process record.ProcessIdentity }
	// Backward takes the agent out of an excluded JVM.
	Backward struct{ Process record.ProcessIdentity }
	// AnnotateEarly annotates the pod before all of its JVMs are exposed. The condition
	// waits for them.
	AnnotateEarly struct{}
	// Wait reconciles the pod again after a time, unless an event comes first.
	Wait struct{ After time.Duration }
	// DecideAgain makes the same decision again.
	DecideAgain struct{}
)

// Return begins anew with a pod that was being detached, and came back: the record
// remembers that agents may be there, but not what they serve. Conditions keep their
// transition times.
type Return struct{}

// Apply implements Change.
func (Return) Apply(s *Situation) error {
	status := s.Status()
	*status = v1alpha1.JmxAttachmentStatus{Conditions: status.Conditions, Processes: status.Processes}
	for _, p := range s.Processes() {
		p.Phase, p.Reason, p.Message, p.Attempt = v1alpha1.PhaseDiscovered, "", "", nil
		p.Staged, p.Endpoint, p.Notices, p.Port, p.ConfigSHA256 = nil, nil, nil, 0, ""
	}
	s.State = statemachine.State{}
	return nil
}

// Renew updates the record with what the exporter asks for from now on.
type Renew struct {
	DetachTimeout metav1.Duration
	// Grant is the revision that the rollout has just granted; empty for none. What was
	// tried, was tried with another.
	Grant string
	// Resume is the digest of the annotation that has just resumed the rollout; nil for
	// as before. The pod is tried again.
	Resume *string
	// KeepHelpers reports whether files brought into containers stay there.
	KeepHelpers bool
	// RetryInspection reports whether what was tried, was tried by another transport.
	RetryInspection bool
	// ForgetRestart reports whether the recorded restart was after an attach of another
	// revision, or its container has recovered.
	ForgetRestart bool
}

// Apply implements Change.
func (m Renew) Apply(s *Situation) error {
	status := s.Status()
	status.DetachTimeout = m.DetachTimeout
	if m.Grant != "" {
		status.Revision = m.Grant
		retry(s, func(p *v1alpha1.JavaProcess) bool { return p.Phase != v1alpha1.PhaseDiscovered })
	}
	if m.Resume != nil {
		status.Resume, status.Restart = *m.Resume, nil
		retry(s, func(p *v1alpha1.JavaProcess) bool {
			return v1alpha1.Halts(p.Reason) || p.Reason == v1alpha1.ReasonCollectionTooLarge
		})
	}
	for i := range status.Containers {
		status.Containers[i].HelperRemoved = status.Containers[i].HelperRemoved && !m.KeepHelpers
	}
	if m.RetryInspection {
		s.State.Attempt = nil
	}
	if m.ForgetRestart {
		status.Restart = nil
	}
	return nil
}

func retry(s *Situation, which func(*v1alpha1.JavaProcess) bool) {
	for _, p := range s.Filter(which) {
		p.Reason, p.Message, p.Attempt = "", "", nil
	}
}

// CheckFrom records from where an endpoint is checked.
type CheckFrom struct {
	Process record.ProcessIdentity
	From    v1alpha1.CheckedFrom
}

// Apply implements Change.
func (m CheckFrom) Apply(s *Situation) error {
	s.Known(m.Process).Endpoint.CheckedFrom = m.From
	return nil
}

// Notice records what the agent in a process reports about its collections.
type Notice struct {
	Process record.ProcessIdentity
	Notices helperapi.Notices
}

// Apply implements Change.
func (m Notice) Apply(s *Situation) error {
	record.Notice(s.Known(m.Process), m.Notices)
	return nil
}

// NoteRestart records an exit soon after an attach.
type NoteRestart struct{ Restart *v1alpha1.Restart }

// Apply implements Change. A proof that an earlier exit refuted, in another container, does
// not hold again.
func (m NoteRestart) Apply(s *Situation) error {
	if before := s.Status().Restart; before != nil && before.Container != m.Restart.Container {
		if entry := s.Inspected(before.Container); entry != nil {
			entry.ProvenRevision = ""
		}
	}
	s.Status().Restart = m.Restart
	return nil
}

// Drop drops processes whose pod is being detached, and which are gone.
type Drop struct{ Processes []record.ProcessIdentity }

// Apply implements Change.
func (m Drop) Apply(s *Situation) error {
	s.Drop(func(p *v1alpha1.JavaProcess) bool { return slices.Contains(m.Processes, record.Identity(p)) })
	return nil
}

// Forget drops processes that are gone, and has their containers inspected again.
type Forget struct {
	Processes []record.ProcessIdentity
	// Proven are those of them that have proven the revision of the pod.
	Proven []record.ProcessIdentity
}

// Apply implements Change.
func (m Forget) Apply(s *Situation) error {
	gone := func(p *v1alpha1.JavaProcess) bool { return slices.Contains(m.Processes, record.Identity(p)) }
	for _, p := range s.Filter(gone) {
		s.InspectAgain(p.Container)
		if entry := s.Inspected(p.Container); entry != nil && slices.Contains(m.Proven, record.Identity(p)) {
			entry.ProvenRevision = s.Status().Revision
		}
	}
	s.Drop(gone)
	return nil
}

// RegressJVM takes a JVM back to the last phase that holds.
type RegressJVM struct {
	Process record.ProcessIdentity
	Cause   *Cause
	// Lost is the first phase that is lost; empty if the JVM had not come that far, and
	// the cause only disproves what is recorded.
	Lost statemachine.Phase
}

// Apply implements Change.
func (m RegressJVM) Apply(s *Situation) error {
	j := &JVM{s, s.Known(m.Process)}
	if m.Cause.disproves != nil {
		m.Cause.disproves(j.Process)
	}
	state := j.State()
	changed, err := Plan.Regress(&state, m.Cause.Cause)
	if err != nil {
		return err
	}
	if changed && m.Cause.loss {
		j.lose(&state)
	}
	j.SetState(state)
	return nil
}

// RegressPod takes the pod's own phases back to the last one that holds.
type RegressPod struct {
	Cause *Cause
	// Lost is the first phase that is lost.
	Lost statemachine.Phase
}

// Apply implements Change.
func (m RegressPod) Apply(s *Situation) error {
	_, err := Plan.Regress(&s.State, m.Cause.Cause)
	return err
}

// SumUp derives the pod's state from those of its JVMs.
type SumUp struct{}

// Apply implements Change.
func (SumUp) Apply(s *Situation) error {
	s.State = s.Sum(s.State)
	return nil
}
