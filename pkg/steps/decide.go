package steps

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Decision is a pure function of a record and of what was observed. It answers with
// moves, which it does not execute.
type Decision func(*Situation) ([]Move, error)

// Attach are the decisions about a pod that an exporter owns. Each is made after the
// moves of the one before it, whose outcomes it depends on.
var Attach = []Decision{Regress, FindJVMs, WalkJVMs, Settle}

// Regress decides, before anything is executed, what no longer holds. Processes that are
// gone leave the record, and thereby the EndpointSlices, in any phase.
func Regress(s *Situation) ([]Move, error) {
	d := draftOf(s)
	if d.Status().DetachStartTime != nil {
		d.add(Return{})
	}
	if m := d.renewal(); m != (Renew{DetachTimeout: d.Status().DetachTimeout}) {
		d.add(m)
	}
	if left, recovers := d.recoversAfter(); recovers {
		d.add(Wait{left})
	}
	for _, p := range d.Processes() {
		health := d.EndpointHealth[record.Identity(p)]
		if health.CheckedFrom != "" && p.Endpoint != nil {
			d.add(CheckFrom{record.Identity(p), health.CheckedFrom})
		}
		if health.Notices != nil {
			d.add(Notice{record.Identity(p), *health.Notices})
		}
	}
	forgot := d.forget(func(p *v1alpha1.JavaProcess) bool {
		return !record.Runs(d.Pod, p) || d.EndpointHealth[record.Identity(p)].Finding == FindingGone
	})
	for _, p := range d.Filter(func(p *v1alpha1.JavaProcess) bool { return !p.Excluded }) {
		d.regressJVM(p)
	}
	d.regressPod()
	if misleads(d.Situation) {
		d.add(Withdraw{})
	}
	if forgot {
		d.add(Persist{})
	}
	if Plan.Reached(d.State.Phase, JavaFound) && d.inspectionDue() {
		d.add(Inspect{})
	}
	return d.moves, d.err
}

// FindJVMs decides how the pod gets to JavaFound, after the containers that were due are
// inspected. If no JVM is left, the phase no longer holds.
func FindJVMs(s *Situation) ([]Move, error) {
	d := draftOf(s)
	if s.Inspection != nil {
		d.regressPod()
	}
	if s.queued() {
		d.add(Wait{statemachine.QueuedFor})
	} else {
		d.add(WalkPod{To: JavaFound, Tried: s.Inspection})
	}
	return d.moves, d.err
}

// WalkJVMs decides which JVM goes forward or back next: one after another, since what
// becomes of one may concern the next. Processes in containers that hang may use up the
// time of a reconcile, and come last.
func WalkJVMs(s *Situation) ([]Move, error) {
	d := draftOf(s)
	if len(s.Walked) == 0 {
		d.noteRestart(d.missed)
		if after := d.inspectAfter(); after > 0 && Plan.Reached(d.State.Phase, JavaFound) && !s.queued() {
			d.add(Wait{after})
		}
	}
	fewestTriesFirst := slices.SortedStableFunc(slices.Values(d.Processes()), func(a, b *v1alpha1.JavaProcess) int {
		return cmp.Compare(a.Attempt.Tries(), b.Attempt.Tries())
	})
	for _, p := range fewestTriesFirst {
		switch j := (&JVM{d.Situation, p}); {
		case slices.Contains(s.Walked, record.Identity(p)):
		case p.Excluded && record.Serves(p):
			d.add(Backward{record.Identity(p)})
			d.add(DecideAgain{})
			return d.moves, d.err
		case p.Excluded, !Plan.Reached(j.State().Phase, JavaFound), j.awaitsPrimary():
		default:
			d.add(Forward{record.Identity(p)})
			d.add(DecideAgain{})
			return d.moves, d.err
		}
	}
	return d.moves, d.err
}

// foundAgainAfter is the time after which a pod is inspected in which a step found a
// process gone: as soon as a record that is written again is read.
const foundAgainAfter = 200 * time.Millisecond

// Settle decides what follows for the pod from where its JVMs have arrived. It is
// annotated as soon as the primary JVM is exposed.
func Settle(s *Situation) ([]Move, error) {
	d := draftOf(s)
	if d.forget(func(p *v1alpha1.JavaProcess) bool { return p.Reason == v1alpha1.ReasonProcessGone }) {
		d.regressPod()
		d.add(Wait{foundAgainAfter})
	}
	d.add(SumUp{})
	if Plan.Reached(d.State.Phase, Exposed) {
		d.add(WalkPod{To: Annotated})
		return d.moves, d.err
	}
	d.add(Persist{})
	if canAnnotate(d.Situation) {
		d.add(AnnotateEarly{})
		d.add(Persist{})
	}
	return d.moves, d.err
}

// queued reports whether an inspection found no capacity.
func (s *Situation) queued() bool {
	return s.Inspection != nil && s.Inspection.Kind == statemachine.Queued
}

// draft is a copy of a situation on which a decision tries its moves, so that each move
// is decided on the record as those before it leave it.
type draft struct {
	*Situation
	moves []Move
	err   error
}

func draftOf(s *Situation) *draft {
	copied, attachment := *s, *s.Attachment
	attachment.Status = *s.Status().DeepCopy()
	copied.Attachment = &attachment
	return &draft{Situation: &copied}
}

// add decides for a move.
func (d *draft) add(m Move) {
	d.moves = append(d.moves, m)
	if change, ok := m.(Change); ok && d.err == nil {
		d.err = change.Apply(d.Situation)
	}
}

// renewal returns what the exporter asks for from now on.
func (d *draft) renewal() Renew {
	status, granted := d.Status(), d.Attachment.Spec.Revision
	left, recovers := d.recoversAfter()
	m := Renew{
		DetachTimeout: ptr.Deref(d.Exporter.Spec.Detach.Timeout, metav1.Duration{}),
		KeepHelpers: d.Exporter.Spec.Mode != v1alpha1.ModePreflight &&
			slices.ContainsFunc(status.Containers, func(c v1alpha1.InspectedContainer) bool { return c.HelperRemoved }),
		RetryInspection: d.takesAnyDoor(),
		ForgetRestart:   status.Restart != nil && (status.Restart.Revision != granted || recovers && left == 0),
	}
	if d.granted() && status.Revision != granted {
		m.Grant = granted
	}
	if value := Resume(d.Exporter); status.Resume != value {
		m.Resume = &value
	}
	return m
}

// forget decides to drop processes that are gone, and reports whether there are any. One
// that exited soon after an attach is noted.
func (d *draft) forget(gone func(*v1alpha1.JavaProcess) bool) bool {
	d.noteRestart(func(p *v1alpha1.JavaProcess) bool {
		now := d.Known(record.Identity(p))
		return now != nil && gone(now)
	})
	var m Forget
	for _, p := range d.Filter(gone) {
		m.Processes = append(m.Processes, record.Identity(p))
		if d.proves(p) {
			m.Proven = append(m.Proven, record.Identity(p))
		}
	}
	if len(m.Processes) > 0 {
		d.add(m)
	}
	return len(m.Processes) > 0
}

func (d *draft) noteRestart(gone func(*v1alpha1.JavaProcess) bool) {
	if restart := d.restartOf(d.Exporter, gone); restart != nil {
		d.add(NoteRestart{restart})
	}
}

func (d *draft) regressJVM(p *v1alpha1.JavaProcess) {
	if cause := (&JVM{d.Situation, p}).cause(); cause != nil {
		d.add(RegressJVM{record.Identity(p), cause, lost(statemachine.Phase(p.Phase), cause)})
	}
}

func (d *draft) regressPod() {
	if cause := d.cause(); cause != nil {
		if phase := lost(d.State.Phase, cause); phase != "" {
			d.add(RegressPod{cause, phase})
		}
	}
}

// lost returns the first phase that a record in a phase loses for a cause; empty if it
// has not come that far.
func lost(at statemachine.Phase, cause *Cause) statemachine.Phase {
	after := PhaseAfter(cause.Cause, at)
	if after == at {
		return ""
	}
	phase, _ := Plan.Next(after)
	return phase
}

// missed reports whether a process is no longer in the record, although its container
// was inspected.
func (s *Situation) missed(p *v1alpha1.JavaProcess) bool {
	return s.Known(record.Identity(p)) == nil &&
		slices.ContainsFunc(s.Status().Containers, func(c v1alpha1.InspectedContainer) bool { return c.ContainerID == p.ContainerID && c.Reason == "" })
}
