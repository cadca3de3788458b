package attachment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/enqueue"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// concludeAttach has the endpoints health checked from now on.
func (v *visit) concludeAttach(context.Context) (ctrl.Result, error) {
	v.Health.Track(v.key(), v.Pod.Status.PodIP, v.Status().Processes)
	if o := v.withdrawal; o.Err != nil && o.Reason != v1alpha1.ReasonAnnotationRefused {
		return ctrl.Result{}, o.Err
	}
	return ctrl.Result{RequeueAfter: v.after}, nil
}

// persist sets phase, reason and conditions, derived from the state of the pod and its
// JVMs, and writes the record.
func (v *visit) persist(ctx context.Context) error {
	changed := v.setConditions()
	if err := v.write(ctx); err != nil {
		return err
	}
	v.recordConditions(ctx, changed)
	return nil
}

// setConditions sets phase, reason and all conditions together, so that they cannot
// disagree: they are derived from the pod's own state and those of its JVMs. It returns
// the conditions whose status or reason changed.
func (v *visit) setConditions() (changed []metav1.Condition) {
	state, status := v.Sum(v.State), v.Status()
	status.ObservedGeneration = v.Attachment.Generation
	status.Phase = v1alpha1.Phase(cmp.Or(state.Phase, steps.Pending))
	status.Reason, status.Attempt = state.Reason, record.RecordedAttempt(state.Attempt)
	conditions := steps.Plan.Conditions(state, record.KindOf, v.Held,
		statemachine.Held{Reason: v1alpha1.ReasonNotReached, Message: "This is the next phase."},
		statemachine.Held{Reason: v1alpha1.ReasonNotReached, Message: "An earlier phase does not hold yet."})
	if status.Reason == "" && state.Phase != steps.Annotated {
		status.Reason = v1alpha1.ReasonNotReached
	}
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScrapable, Message: "Prometheus can discover the pod's metrics."}
	for _, c := range conditions {
		if c.Status != metav1.ConditionTrue {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, c.Reason, c.Message
			break
		}
	}
	return statemachine.SetConditions(&status.Conditions, v.Attachment.Generation, metav1.NewTime(v.Clock.Now()).Rfc3339Copy(), append(conditions, ready)...)
}

// write writes the record if it differs from what the API server has.
func (v *visit) write(ctx context.Context) error {
	status := v.Status()
	if equality.Semantic.DeepEqual(v.persisted, status) {
		return nil
	}
	if err := v.Writer.AttachmentStatus(ctx, v.Attachment, status); err != nil {
		return err
	}
	v.persisted = status.DeepCopy()
	return nil
}

// queueTimeout limits a detach that finds no capacity for a try, for example when a
// whole fleet is detached at once: waiting says nothing about the pod.
const queueTimeout = 30 * time.Minute

// concludeDetach deletes the record when there is nothing left to wait for. A failure is
// retried until spec.detach.timeout has passed; then an Event lists what stays behind.
func (v *visit) concludeDetach(ctx context.Context) (ctrl.Result, error) {
	failure, tries := v.failures()
	var stopped []string
	for _, u := range v.undone {
		if u.Arrived && u.Agent != "" {
			stopped = append(stopped, u.Agent)
		}
		if !u.Arrived {
			v.after = enqueue.Earliest(v.after, u.RequeueAfter)
		}
	}
	v.recordDetached(stopped)
	v.Drop(func(p *v1alpha1.JavaProcess) bool {
		return slices.ContainsFunc(v.undone, func(u undone) bool { return u.Arrived && u.Process == record.Identity(p) })
	})
	switch {
	case failure == nil && v.after == 0:
		if slices.ContainsFunc(v.undone, func(u undone) bool { return u.Agent != "" }) { // a record that is deleted with agents on it seems to leave them
			if err := v.write(ctx); err != nil {
				return ctrl.Result{}, err
			}
		}
		return v.detached(ctx)
	case failure != nil && v.DetachIsOver():
		v.recordLeft(v.Agents(), failure)
		return v.detached(ctx)
	}
	if err := v.persistDetaching(ctx, failure, tries); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: v.detachAfter()}, nil
}

// detached deletes the record.
func (v *visit) detached(ctx context.Context) (ctrl.Result, error) {
	if err := v.Writer.Delete(ctx, v.Attachment); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("detached")
	return ctrl.Result{}, nil
}

// failures returns what prevents the detach, nil for nothing but events that are awaited,
// and how often the JVM that fails most was tried.
func (v *visit) failures() (failure error, tries int32) {
	failures := []error{v.search}
	if v.withdrawal.Kind != statemachine.Done {
		failures = append(failures, fmt.Errorf("cannot remove the annotations: %s", text.Denial(v.withdrawal.Err)))
	}
	for _, u := range v.undone {
		if u.Arrived {
			continue
		}
		switch p := v.Known(u.Process); {
		case p.Attempt != nil && p.Reason != v1alpha1.ReasonEndpointPending:
			failures = append(failures, fmt.Errorf("process %d in container %s: %s", p.PID, p.Container, strings.TrimRight(p.Message, ".")))
			tries = max(tries, p.Attempt.Count)
		case p.Attempt == nil && v.Clock.Since(v.Status().DetachStartTime.Time) >= queueTimeout: // there was no room for a try
			failures = append(failures, fmt.Errorf("process %d in container %s: the exec concurrency limit is reached", p.PID, p.Container))
		}
	}
	return errors.Join(failures...), tries
}

// detachAfter returns the time until the detach is tried again, or is over.
func (v *visit) detachAfter() time.Duration {
	status, after := v.Status(), v.after
	if status.Attempt != nil && after == 0 {
		after = statemachine.Backoff(status.Attempt.Count)
	}
	if remaining := status.DetachTimeout.Duration - v.Clock.Since(status.DetachStartTime.Time); remaining > 0 {
		after = enqueue.Earliest(after, remaining)
	}
	return after
}

// persistBegun records that the pod is being detached, before the first operation in it:
// its timeout starts here.
func (v *visit) persistBegun(ctx context.Context) error {
	if v.Status().Reason == v1alpha1.ReasonDetaching {
		return nil
	}
	return v.persistDetaching(ctx, nil, 0)
}

// persistDetaching records that the pod is being detached, what prevents it, and how
// often it was tried.
func (v *visit) persistDetaching(ctx context.Context, failure error, tries int32) error {
	status := v.Status()
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
	statemachine.SetConditions(&status.Conditions, v.Attachment.Generation, v.Now, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching, Message: message,
	})
	return v.write(ctx)
}
