package attachment

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// walk is one reconcile's way through the phases.
type walk struct {
	*Reconciler
	scope   *steps.Scope
	machine *statemachine.Machine
	// begun is the status when the reconcile began, persisted as the API server
	// has it.
	begun, persisted *v1alpha1.JmxAttachmentStatus
	// gone are processes that were found gone while their container runs.
	gone []steps.ProcessIdentity
	// unwithdrawn is why annotations that mislead are still on the pod.
	unwithdrawn error
}

func (r *Reconciler) walk(scope *steps.Scope) *walk {
	persisted := scope.Status().DeepCopy()
	machine, err := statemachine.Restore(statemachine.Phase(scope.Status().Phase))
	if err != nil {
		// The API server refuses phases that do not exist; one that an older
		// or newer operator knew is found out again from the start.
		*scope.Status() = v1alpha1.JmxAttachmentStatus{}
		machine = statemachine.New()
	}
	return &walk{Reconciler: r, scope: scope, machine: machine, begun: persisted, persisted: persisted}
}

// begin takes over into the record what holds from now on: it is persisted with
// whatever else the walk finds, or at its end.
func (w *walk) begin() {
	s := w.scope.Status()
	if s.DetachStartTime != nil { // the pod was being taken out, and came back
		// The times of conditions move with their status; that agents may be
		// there is not forgotten, what they do is.
		*s = v1alpha1.JmxAttachmentStatus{Conditions: s.Conditions, Processes: s.Processes}
		for i := range s.Processes {
			p := &s.Processes[i]
			p.Staged, p.Endpoint, p.Port, p.ConfigSHA256 = nil, nil, 0, ""
		}
		w.machine = statemachine.New()
	}
	s.DetachTimeout = ptr.Deref(w.scope.Exporter.Spec.Detach.Timeout, metav1.Duration{})
	if granted := w.scope.Attachment.Spec.Revision; w.scope.Granted && s.Revision != granted {
		s.Revision, s.Attempt = granted, nil // what was tried, was tried with another
		if s.Inspected != nil && slices.ContainsFunc(s.Processes, leftAlone) {
			s.Inspected.ContainerIDs = nil // another try for what stood in the way
		}
	}
	if discovered := meta.FindStatusCondition(s.Conditions, string(v1alpha1.PhaseDiscovered)); discovered != nil {
		discovered.Message = steps.Selects(w.scope) // the record may have come from another exporter
	}
	if s.Restart != nil && s.Restart.Revision != w.scope.Attachment.Spec.Revision {
		s.Restart = nil
	}
}

// leftAlone tells whether something stood in the way of attaching to the process.
func leftAlone(p v1alpha1.JavaProcess) bool {
	return p.Refusal != "" && p.Refusal != v1alpha1.RefusalExcluded
}

// bury forgets the processes that are gone, in whatever phase, so that nobody is
// sent to them, and notes what may have ended them. It tells whether there were any.
func (w *walk) bury() bool {
	gone := func(p *v1alpha1.JavaProcess) bool {
		return !steps.Runs(w.scope.Pod, p) || slices.Contains(w.gone, steps.Identity(p))
	}
	before := len(w.scope.Status().Processes)
	w.noteRestart(w.begun.Processes, gone)
	w.scope.Forget(gone)
	return len(w.scope.Status().Processes) < before
}

// goBack takes the record back to the first phase that no longer holds: to the
// beginning when processes were replaced, unless it is not the pod's turn and
// others are left.
func (w *walk) goBack(ctx context.Context, replaced bool) error {
	step, event := w.lost()
	if replaced && w.machine.Can(statemachine.Replaced) && (w.scope.Granted || len(w.scope.Chosen()) == 0) {
		step, event = w.step(statemachine.JavaFound), statemachine.Replaced
	}
	if inspected := w.scope.Status().Inspected; replaced && event != statemachine.Replaced && inspected != nil {
		// For when the pod's turn has come.
		inspected.ContainerIDs = slices.DeleteFunc(inspected.ContainerIDs, func(id string) bool {
			return slices.ContainsFunc(w.gone, func(p steps.ProcessIdentity) bool { return p.ContainerID == id })
		})
	}
	if event == "" {
		return nil
	}
	if err := w.fire(event); err != nil {
		return err
	}
	w.scope.Status().Attempt = nil // it was about a later phase, or what is gone
	why := steps.NotReached(lost[event], lostMessages[event])
	w.state(nil, why)
	if err := w.persist(ctx); err != nil {
		return err
	}
	w.tellLost(ctx, step, why)
	return nil
}

// lost is the first step whose phase no longer holds, and why; none if all do
// that the record says are reached.
func (w *walk) lost() (steps.Step, statemachine.Event) {
	for _, step := range w.Steps {
		if !w.machine.Phase().Reached(step.Phase()) {
			break
		}
		if event := step.Lost(w.scope); event != "" {
			return step, event
		}
	}
	return nil, ""
}

func (w *walk) ensure(ctx context.Context, step steps.Step) steps.Outcome {
	start := w.Clock.Now()
	before := slices.Clone(w.scope.Status().Processes)
	outcome := step.Ensure(ctx, w.scope)
	metrics.ObserveStep(string(step.Phase()), outcome.Reason, w.Clock.Since(start))
	if step.Phase() == statemachine.JavaFound {
		w.noteRestart(before, w.missed)
	}
	return outcome
}

// record puts the outcome of a step into the record: moves the machine, states
// the conditions, counts the attempt, persists, and tells the world.
func (w *walk) record(ctx context.Context, step steps.Step, outcome steps.Outcome) error {
	switch {
	case outcome.Kind == steps.Done:
		if err := w.fire(statemachine.Forward(step.Phase())); err != nil {
			return err
		}
	case outcome.Back != "" && w.machine.Can(outcome.Back):
		w.gone = append(w.gone, outcome.Gone)
		w.bury()
		if err := w.fire(outcome.Back); err != nil {
			return err
		}
	}
	w.count(step, outcome)
	changed := w.state(step, outcome)
	if err := w.persist(ctx); err != nil {
		return err
	}
	if changed {
		w.announce(ctx, step, outcome)
	}
	return nil
}

// fire moves the machine, and forgets what is no longer so.
func (w *walk) fire(event statemachine.Event) error {
	if err := w.machine.Fire(event); err != nil {
		return err
	}
	if event == statemachine.Replaced {
		w.scope.Status().Inspected = &v1alpha1.Inspected{Time: w.scope.Now}
	}
	return nil
}

// gone are the reasons for which JavaFound does not hold that mean that the JVM
// that was there is not there any more.
var gone = map[string]bool{
	v1alpha1.ReasonReplaced: true, v1alpha1.ReasonProcessGone: true,
	v1alpha1.ReasonContainerNotRunning: true, v1alpha1.ReasonNoJavaProcess: true,
	v1alpha1.ReasonRestartedAfterAttach: true, v1alpha1.ReasonNoProcessIncluded: true,
}

// withdraw takes the annotations of a JVM that is gone along, as the endpoint
// is: nobody is to scrape what is not there. A failure keeps nothing else from
// going on, and is tried again.
func (w *walk) withdraw(ctx context.Context, buried bool) error {
	if w.machine.Phase() != statemachine.Discovered || !buried && !gone[w.scope.Status().Reason] || !steps.Misleads(w.scope) {
		return nil
	}
	err := steps.Withdraw(ctx, w.Writer, w.scope.Pod)
	if err != nil {
		w.tellNotWithdrawn(w.scope.Attachment, w.scope.Pod, err)
	}
	return err
}

// persist writes the record if it differs from what the API server has.
func (w *walk) persist(ctx context.Context) error {
	status := w.scope.Status()
	if equality.Semantic.DeepEqual(w.persisted, status) {
		return nil
	}
	if err := w.Writer.AttachmentStatus(ctx, w.scope.Attachment, status); err != nil {
		return err
	}
	w.persisted = status.DeepCopy()
	return nil
}

// maxBackoff is the longest time until something that may mend itself without
// an event is looked at again.
const maxBackoff = enqueue.MaxBackoff

// count counts an attempt that did not succeed, and forgets them when the phase
// that they were to reach is there.
func (w *walk) count(step steps.Step, outcome steps.Outcome) {
	status, key := w.scope.Status(), w.scope.Key(w.Artifacts)
	last := status.Attempt
	if outcome.Kind == steps.Done {
		if last != nil && w.machine.Phase().Reached(statemachine.Phase(last.Phase)) {
			status.Attempt = nil
		}
		return
	}
	attempt := &v1alpha1.Attempt{Key: key, Phase: v1alpha1.Phase(step.Phase()), Count: 1}
	if last != nil && last.Key == key {
		attempt.Count = last.Count + 1
	}
	if outcome.Err != nil {
		attempt.LastError = text.Cut(outcome.Err.Error(), 1024)
	}
	if outcome.Reason == v1alpha1.ReasonRestartedAfterAttach {
		attempt.Count = 1 // nothing is tried
	}
	switch {
	case outcome.Kind == steps.Stop:
	case v1alpha1.AwaitsEvent(outcome.Reason):
		attempt.Count = 1
	default:
		// Rounded up to what the API keeps of a time.
		next := w.Clock.Now().Add(backoff(attempt.Count) + time.Second - 1)
		attempt.NextTime = new(metav1.NewTime(next.Truncate(time.Second)))
	}
	status.Attempt = attempt
}

// blocked tells that nothing is to be tried now: a person is needed, or it is
// not time yet, and nothing has changed.
func (w *walk) blocked() bool {
	status := w.scope.Status()
	a := status.Attempt
	if a == nil || a.Key != w.scope.Key(w.Artifacts) {
		return false
	}
	return v1alpha1.NeedsPerson(status.Reason) || a.NextTime != nil && w.Clock.Now().Before(a.NextTime.Time)
}

// again is the time until what was not reached is looked at without an event; 0
// for never. What an event announces is looked at all the same, now and then.
func (w *walk) again() time.Duration {
	status := w.scope.Status()
	switch {
	case v1alpha1.NeedsPerson(status.Reason):
		return 0
	case status.Attempt == nil || status.Attempt.NextTime == nil:
		return maxBackoff
	default:
		// Never 0, which would be taken for never.
		return max(status.Attempt.NextTime.Sub(w.Clock.Now()), time.Millisecond)
	}
}

// queuedFor is how long a step waits that found no place for its exec.
const queuedFor = 300 * time.Millisecond

func backoff(count int32) time.Duration {
	d := wait.Jitter(time.Second<<min(count-1, 10), 0.1)
	return min(d, maxBackoff)
}
