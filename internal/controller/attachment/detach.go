package attachment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// detach undoes an attachment whose pod is gone or no longer belongs to its exporter:
// annotations, endpoints, agents, then the record. There is no finalizer, so nothing
// ever blocks on it: a record whose exporter was deleted while no operator ran is
// detached by the next one.
//
// A terminating pod is skipped, and another exporter that owns the pod takes over the
// record as it is.
func (r *Reconciler) detach(ctx context.Context, attachment *v1alpha1.JmxAttachment, helper steps.Helper) (ctrl.Result, error) {
	found, err := r.confirm(ctx, attachment)
	if err != nil {
		return ctrl.Result{}, err
	}
	if found.owned(attachment) {
		return ctrl.Result{}, errors.New("stale cache: the pod still belongs to the exporter")
	}
	if found.inherited(attachment) {
		return ctrl.Result{}, nil // the owner takes the record over
	}
	if found.pod != nil && found.pod.DeletionTimestamp.IsZero() {
		if waits, err := r.awaitHalt(ctx, attachment, found); err != nil || waits {
			return ctrl.Result{RequeueAfter: haltTimeout}, err
		}
		published, err := r.published(ctx, found.pod, attachment.Spec.Exporter.UID)
		if err != nil {
			return ctrl.Result{}, err
		}
		v := r.visit(&steps.Scope{
			Attachment: attachment, Pod: found.pod, Published: published, Now: r.now(),
			Artifacts: r.Artifacts, Transport: r.Transport, Helper: helper, Prober: r.Prober, Writer: r.Writer, Protection: r.Protection,
		})
		if result, err := v.detach(ctx); err != nil || result.RequeueAfter > 0 {
			return result, err
		}
	}
	if err := r.Writer.Delete(ctx, attachment); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("detached")
	return ctrl.Result{}, nil
}

// detach leads the pod back to the start, annotations first. A failure does not stop the
// other operations, and is retried until spec.detach.timeout has passed; then an Event
// lists what stays behind. The detach is over when there is nothing left to wait for.
func (v *visit) detach(ctx context.Context) (ctrl.Result, error) {
	s, status := v.scope, v.scope.Status()
	over := v.beginDetach()
	s.Drop(func(p *v1alpha1.JavaProcess) bool { return !steps.Runs(s.Pod, p) })
	var failures []error
	if v.recordLost() {
		if err := v.persistBegun(ctx); err != nil {
			return ctrl.Result{}, err
		}
		failures = append(failures, s.FindAgents(ctx))
	}
	withdrawn := steps.Annotate{}.Undo(ctx, s)
	if withdrawn.Kind != statemachine.Done {
		v.recordNotWithdrawn(withdrawn.Err)
		failures = append(failures, fmt.Errorf("cannot remove the annotations: %s", text.Denial(withdrawn.Err)))
	}
	agents := v.agents()
	if len(agents) > 0 {
		if err := v.persistBegun(ctx); err != nil {
			return ctrl.Result{}, err
		}
	}
	places := map[steps.ProcessIdentity]string{}
	for _, p := range agents {
		places[steps.Identity(p)] = place(p)
	}
	var after time.Duration
	var tries int32
	undone := map[steps.ProcessIdentity]bool{}
	for _, p := range s.Filter(func(*v1alpha1.JavaProcess) bool { return true }) {
		result, err := v.walkBack(ctx, &steps.JVM{Scope: s, Process: p})
		if err != nil {
			return ctrl.Result{}, err
		}
		undone[steps.Identity(p)] = result.Arrived
		if !result.Arrived {
			after = enqueue.Earliest(after, result.RequeueAfter)
			switch a := p.Attempt; {
			case a != nil && p.Reason != v1alpha1.ReasonEndpointPending:
				failures = append(failures, pending(p))
				tries = max(tries, a.Count)
			case a == nil && v.Clock.Since(status.DetachStartTime.Time) >= queueTimeout: // there was no room for a try
				failures = append(failures, fmt.Errorf("process %d in container %s: the exec concurrency limit is reached", p.PID, p.Container))
			}
		}
	}
	var stopped []string
	for _, p := range agents {
		if id := steps.Identity(p); undone[id] {
			stopped = append(stopped, places[id])
		}
	}
	v.recordDetached(stopped)
	s.Drop(func(p *v1alpha1.JavaProcess) bool { return undone[steps.Identity(p)] })
	failure := errors.Join(failures...)
	if failure == nil && after == 0 {
		if len(agents) > 0 { // a record that is deleted with agents on it seems to leave them
			return ctrl.Result{}, v.write(ctx)
		}
		return ctrl.Result{}, nil
	}
	if over && failure != nil {
		v.recordLeft(v.agents(), failure)
		return ctrl.Result{}, nil
	}
	if err := v.persistDetaching(ctx, failure, tries); err != nil {
		return ctrl.Result{}, err
	}
	if status.Attempt != nil && after == 0 {
		after = statemachine.Backoff(status.Attempt.Count)
	}
	if remaining := status.DetachTimeout.Duration - v.Clock.Since(status.DetachStartTime.Time); remaining > 0 {
		after = enqueue.Earliest(after, remaining)
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// defaultDetachTimeout is the default of spec.detach.timeout, for a record whose
// exporter was never read.
const defaultDetachTimeout = 2 * time.Minute

// queueTimeout limits a detach that finds no capacity for a try, for example when a
// whole fleet is detached at once: waiting says nothing about the pod.
const queueTimeout = 30 * time.Minute

// beginDetach records the start of the detach, and reports whether its timeout has
// passed: then everything is tried one last time.
func (v *visit) beginDetach() (over bool) {
	status := v.scope.Status()
	if status.DetachStartTime != nil {
		over = v.Clock.Since(status.DetachStartTime.Time) >= status.DetachTimeout.Duration
		for i := range status.Processes {
			if a := status.Processes[i].Attempt; over && a != nil {
				a.NextTime = nil
			}
		}
		return over
	}
	status.DetachStartTime, status.Attempt = new(v.scope.Now), nil
	if status.Phase == "" {
		status.DetachTimeout.Duration = defaultDetachTimeout
	}
	for i := range status.Processes {
		status.Processes[i].Attempt = nil // of the way forward
	}
	return false
}

// recordLost reports whether the pod may have agents that the record does not know,
// because the record was recreated: to detach the pod (internal/controller/orphan), or
// without having inspected all containers since. Otherwise a pod that was never inspected
// has nothing of the operator in it.
func (v *visit) recordLost() bool {
	s, begun := v.scope, v.begun
	marked := begun.DetachStartTime != nil || s.Pod.Annotations[v1alpha1.AnnotationFlag] != ""
	if !slices.ContainsFunc(begun.Containers, func(c v1alpha1.InspectedContainer) bool { return c.Time != nil }) {
		return marked || begun.Revision != "" || len(begun.Processes) > 0 || s.Attachment.Spec.Exporter.UID == ""
	}
	attached := slices.ContainsFunc(begun.Processes, func(p v1alpha1.JavaProcess) bool { return p.Intent != nil || p.Adopted })
	found := slices.ContainsFunc(begun.Processes, func(p v1alpha1.JavaProcess) bool { return p.AgentFound })
	return !steps.EndpointsKnown(begun) && !attached && (marked || found)
}

// agents returns the processes of the record that have an agent of the operator.
func (v *visit) agents() []*v1alpha1.JavaProcess {
	return v.scope.Filter(func(p *v1alpha1.JavaProcess) bool { return steps.MayHaveAgent(p) && steps.Runs(v.scope.Pod, p) })
}

// walkBack undoes the phases of one JVM.
func (v *visit) walkBack(ctx context.Context, j *steps.JVM) (statemachine.Result, error) {
	state := j.State()
	walk := walkOf(v, steps.JVMSteps(), v1alpha1.ReasonDetaching)
	walk.Persist = func(context.Context) error { j.SetState(state); return nil }
	return walk.Backward(ctx, j, &state, steps.Staged)
}

func pending(p *v1alpha1.JavaProcess) error {
	return fmt.Errorf("process %d in container %s: %s", p.PID, p.Container, strings.TrimRight(p.Message, "."))
}

// persistBegun records that the pod is being detached, before the first operation in it:
// its timeout starts here.
func (v *visit) persistBegun(ctx context.Context) error {
	if v.scope.Status().Reason == v1alpha1.ReasonDetaching {
		return nil
	}
	return v.persistDetaching(ctx, nil, 0)
}

// persistDetaching records that the pod is being detached, what prevents it, and how
// often it was tried.
func (v *visit) persistDetaching(ctx context.Context, failure error, tries int32) error {
	status := v.scope.Status()
	status.Reason = v1alpha1.ReasonDetaching
	message := "The operator is detaching from the pod."
	if failure != nil {
		cause := text.Line(failure.Error(), 600)
		message = fmt.Sprintf("The operator is detaching from the pod; retrying for %s: %s.", status.DetachTimeout.Duration, cause)
		attempt := &v1alpha1.Attempt{Key: v1alpha1.ReasonDetaching, Phase: cmp.Or(status.Phase, v1alpha1.PhasePending), Count: tries, LastError: cause}
		if tries == 0 { // beside what each JVM counts
			attempt.Count = 1
			if status.Attempt != nil {
				attempt.Count += status.Attempt.Count
			}
		}
		status.Attempt = attempt
	}
	statemachine.SetConditions(&status.Conditions, v.scope.Attachment.Generation, v.scope.Now, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching, Message: message,
	})
	return v.write(ctx)
}
