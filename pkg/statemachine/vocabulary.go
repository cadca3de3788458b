package statemachine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ready is the type of the condition that sums up those of the phases.
const Ready = "Ready"

// The reasons of conditions of phases that were not tried.
const (
	// ReasonProgressing: the phase is the next one.
	ReasonProgressing = "Progressing"
	// ReasonWaiting: an earlier phase does not hold.
	ReasonWaiting = "Waiting"
)

// Vocabulary is what an operator says about a Plan. It is immutable and safe for
// concurrent use. All fields except ReadyAt are required.
type Vocabulary struct {
	Plan *Plan
	// KindOf returns the Kind of a reason, also of one that others chose, such as the
	// kubelet.
	KindOf func(reason string) Kind
	// Held has the reason and message of the condition of each phase while it holds.
	Held map[Phase]Held
	// ReadyAt is the phase at which a record is Ready; empty means the last one.
	ReadyAt Phase
}

// Outcome returns the Outcome of a phase that does not hold. The error is the underlying
// one; nil if the message says it all.
func (v *Vocabulary) Outcome(reason, message string, err error) *Outcome {
	return &Outcome{Kind: v.KindOf(reason), Reason: reason, Message: message, Err: err}
}

// Report sets the conditions of a record according to its State: one per phase, and
// Ready, which is that of the first phase up to ReadyAt that does not hold. The
// transition times change only with the status. It returns the conditions whose status
// or reason changed.
func (v *Vocabulary) Report(record *Record, generation int64, now time.Time) (changed []metav1.Condition) {
	conditions := v.Plan.Conditions(record.State, v.KindOf, func(phase Phase) Held { return v.Held[phase] },
		Held{ReasonProgressing, "This is the next phase."}, Held{ReasonWaiting, "An earlier phase does not hold yet."})
	record.ObservedGeneration = generation
	return SetConditions(&record.Conditions, generation, metav1.NewTime(now.Truncate(time.Second)), append(conditions, v.ready(conditions))...)
}

// ready sums up the conditions of the phases.
func (v *Vocabulary) ready(conditions []metav1.Condition) (ready metav1.Condition) {
	for _, ready = range conditions {
		if ready.Status != metav1.ConditionTrue || ready.Type == string(v.ReadyAt) {
			break
		}
	}
	ready.Type = Ready
	return ready
}
