package attachment

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/metrics"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// walk is one reconcile's way through the phases.
type walk struct {
	*Reconciler
	scope   *steps.Scope
	machine *statemachine.Machine
	// persisted is the status as the API server has it.
	persisted *v1alpha1.JmxAttachmentStatus
}

func (r *Reconciler) walk(scope *steps.Scope) *walk {
	persisted := scope.Status().DeepCopy()
	machine, err := statemachine.Restore(statemachine.Phase(scope.Status().Phase))
	if err != nil {
		// The API server refuses phases that do not exist; one that an older
		// or newer operator knew is found out again from the start.
		*scope.Status() = v1alpha1.JmxAttachmentStatus{}
		machine, _ = statemachine.Restore(statemachine.Pending)
	}
	return &walk{Reconciler: r, scope: scope, machine: machine, persisted: persisted}
}

// goBack takes the record back to the first phase that no longer holds.
func (w *walk) goBack(ctx context.Context) error {
	for _, step := range w.Steps {
		if !w.machine.Phase().Reached(step.Phase()) {
			break
		}
		event := step.Lost(w.scope)
		if event == "" {
			continue
		}
		if err := w.fire(ctx, event); err != nil {
			return err
		}
		w.state(nil, steps.NotReached(lost[event], lostMessages[event]))
		ctrl.LoggerFrom(ctx).Info("phase lost", "event", event, "phase", w.machine.Phase())
		break
	}
	return w.persist(ctx)
}

func (w *walk) ensure(ctx context.Context, step steps.Step) steps.Outcome {
	start := w.Clock.Now()
	outcome := step.Ensure(ctx, w.scope)
	metrics.ObserveStep(string(step.Phase()), outcome.Reason, w.Clock.Since(start))
	return outcome
}

// record puts the outcome of a step into the record: moves the machine, states
// the conditions, counts the attempt, persists, and tells the world.
func (w *walk) record(ctx context.Context, step steps.Step, outcome steps.Outcome) error {
	switch {
	case outcome.Kind == steps.Done:
		if err := w.fire(ctx, statemachine.Forward(step.Phase())); err != nil {
			return err
		}
	case outcome.Back != "" && w.machine.Can(outcome.Back):
		if err := w.fire(ctx, outcome.Back); err != nil {
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

// fire moves the machine, and forgets what is no longer so. A JVM that is gone
// takes the annotations along, as it does the endpoint: nobody is to scrape what
// is not there.
func (w *walk) fire(ctx context.Context, event statemachine.Event) error {
	if err := w.machine.Fire(event); err != nil {
		return err
	}
	if event == statemachine.Replaced {
		s := w.scope.Status()
		s.Processes, s.Staged, s.Intent, s.Endpoint = nil, nil, nil, nil
		return steps.Withdraw(ctx, w.Writer, w.scope.Pod)
	}
	return nil
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
const maxBackoff = 10 * time.Minute

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
		attempt.LastError = cut(outcome.Err.Error())
	}
	switch {
	case outcome.Kind == steps.Stop:
	case v1alpha1.AwaitsEvent(outcome.Reason):
		attempt.Count = 1
	default:
		attempt.NextTime = new(metav1.NewTime(w.Clock.Now().Add(backoff(attempt.Count))).Rfc3339Copy())
	}
	status.Attempt = attempt
}

// blocked tells that nothing is to be tried now, and for how long; no time
// means until an event.
func (w *walk) blocked() (time.Duration, bool) {
	status := w.scope.Status()
	a := status.Attempt
	if a == nil || a.Key != w.scope.Key(w.Artifacts) {
		return 0, false
	}
	if v1alpha1.NeedsPerson(status.Reason) {
		return 0, true
	}
	if a.NextTime == nil {
		return 0, false
	}
	left := a.NextTime.Sub(w.Clock.Now())
	return left, left > 0
}

func backoff(count int32) time.Duration {
	d := wait.Jitter(time.Second<<min(count-1, 10), 0.1)
	return min(d, maxBackoff)
}

func cut(s string) string {
	const limit = 1024
	if len(s) <= limit {
		return s
	}
	return s[:limit]
}
