package attachment

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// listen asks endpoints whether their JVMs still serve them, and looks at the JVM
// of one that is lost. Nothing is executed as long as all answer.
func (w *walk) listen(ctx context.Context) {
	for _, h := range w.Listener.listen(ctx, w.scope) {
		p := h.process
		switch {
		case h.err == nil:
			w.checkedFrom(p, v1alpha1.CheckedFromOperator)
			continue
		case p.Endpoint.CheckedFrom == v1alpha1.CheckedFromPod:
			continue // as before
		}
		sight := steps.Look(ctx, w.Helper, w.scope.Pod, p)
		ctrl.LoggerFrom(ctx).Info("endpoint lost", "container", p.Container, "port", p.Endpoint.Port, "error", h.err, "sight", sight)
		switch {
		case sight == steps.SightGone:
			w.gone = append(w.gone, steps.Identity(p))
		case sight == steps.SightStopped, sight == steps.SightServes && errors.Is(h.err, steps.ErrStranger):
			p.ConfigSHA256 = "" // it serves none, or not there
		case sight == steps.SightSilent && h.misses >= enoughMisses:
			p.Endpoint.Silent = true
		case sight == steps.SightServes && errors.Is(h.err, steps.ErrUnreachable):
			w.checkedFrom(p, v1alpha1.CheckedFromPod)
		}
	}
}

// enoughMisses is how often in a row an endpoint is silent before the record says
// so.
const enoughMisses = 3

// checkedFrom notes where an endpoint was seen to answer, and says so in the
// condition that rests on it.
func (w *walk) checkedFrom(p *v1alpha1.JavaProcess, from v1alpha1.CheckedFrom) {
	if p.Endpoint.CheckedFrom == from {
		return
	}
	p.Endpoint.CheckedFrom = from
	exposed := meta.FindStatusCondition(w.scope.Status().Conditions, string(v1alpha1.PhaseExposed))
	if outcome := steps.Exposed(w.scope); exposed != nil && exposed.Reason == outcome.Reason {
		exposed.Message = outcome.Message
	}
}

// settled is how long a pod is left alone between two looks into it.
const settled = 30 * time.Second

// lookAgain looks into a pod that has become ready since it was looked into last:
// a JVM may have started late, or been replaced. It tells when to do so, 0 for
// never, and whether other processes run now.
func (w *walk) lookAgain(ctx context.Context) (after time.Duration, changed bool) {
	inspected := w.scope.Status().Inspected
	if inspected == nil || len(inspected.ContainerIDs) == 0 || !w.scope.Granted || !readySince(w.scope.Pod).After(inspected.Time.Time) {
		return 0, false
	}
	if wait := settled - w.scope.Now.Sub(inspected.Time.Time); wait > 0 {
		return wait, false
	}
	changed, queued := steps.Changed(ctx, w.Helper, w.scope)
	if queued != nil {
		return wait.Jitter(queuedFor, 1), false
	}
	inspected.Time = w.scope.Now
	return 0, changed
}

// tryAgain tries again what was left alone for what may pass by itself, while the
// others went on: a JVM that was slow to start, a port that was busy. It takes the
// steps anew that are reached, up to the endpoint; for the others nothing changes,
// so the record does not go back, unless there is something new.
func (w *walk) tryAgain(ctx context.Context) error {
	if after, ok := w.untilTried(); !ok || after > 0 {
		return nil
	}
	status := w.scope.Status()
	before := status.DeepCopy()
	w.scope.Waited = true
	for _, phase := range []statemachine.Phase{statemachine.JavaFound, statemachine.Staged, statemachine.Loaded, statemachine.Exposed} {
		step := w.step(phase)
		if !w.machine.Phase().Reached(phase) || w.gate(step) != nil {
			break
		}
		if announcer, ok := step.(steps.Announcer); ok && announcer.Announce(w.scope) {
			if err := w.persist(ctx); err != nil {
				return err
			}
		}
		outcome := w.ensure(ctx, step)
		if outcome.Reason == v1alpha1.ReasonQueued {
			*status, w.scope.Waited = *before, false
			return nil
		}
		if outcome.Kind != steps.Done {
			break
		}
		w.set(metav1.Condition{Type: string(phase), Status: outcome.Status(), Reason: outcome.Reason, Message: outcome.Message})
	}
	if status.Inspected != nil {
		status.Inspected.Time = w.scope.Now // also where nothing could be seen
	}
	return nil
}

// untilTried is the time until then; false when nothing was left alone. It is as
// long again as was waited for already.
func (w *walk) untilTried() (time.Duration, bool) {
	inspected := w.scope.Status().Inspected
	if inspected == nil || !inspected.Incomplete || !w.scope.Granted || !w.machine.Phase().Reached(statemachine.JavaFound) {
		return 0, false
	}
	waited := inspected.Time.Sub(startedLast(w.scope.Pod))
	return min(max(waited, settled), maxBackoff) - w.scope.Now.Sub(inspected.Time.Time), true
}

// startedLast is when the last of the pod's running containers was started.
func startedLast(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses) {
		if running := status.State.Running; running != nil && running.StartedAt.After(last) {
			last = running.StartedAt.Time
		}
	}
	return last
}

// readySince is when the pod became ready; zero when it is not.
func readySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
