package attachment

import (
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
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// concludeAttach has the endpoints health checked from now on.
func (v *visit) concludeAttach(context.Context) (ctrl.Result, error) {
	v.Health.Track(v.key(), v.Pod.Status.PodIP, v.Status().Processes)
	if o := v.withdrawal; o != nil && o.Err != nil && o.Reason != v1alpha1.ReasonAnnotationRefused {
		return ctrl.Result{}, o.Err
	}
	if v.waits() {
		v.after = enqueue.Earliest(v.after, v.retryInputs)
	}
	return ctrl.Result{RequeueAfter: v.after}, nil
}

// queueTimeout limits a detach that finds no capacity for a try, for example when a
// whole fleet is detached at once: waiting says nothing about the pod.
const queueTimeout = 30 * time.Minute

// concludeDetach deletes the record when there is nothing left to wait for. A failure is
// retried until spec.detach.timeout has passed; then an Event lists what stays behind.
func (v *visit) concludeDetach(ctx context.Context) (ctrl.Result, error) {
	tries, failure := v.failures()
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
		return v.timedOut(ctx, failure)
	}
	if err := v.persistDetaching(ctx, failure, tries); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: v.detachAfter()}, nil
}

// detached deletes the record. If a finalizer keeps it, it says so.
func (v *visit) detached(ctx context.Context) (ctrl.Result, error) {
	if kept := v.kept(); kept != "" {
		return ctrl.Result{}, v.persistDetached(ctx, "The operator has detached from the pod."+kept)
	}
	if err := v.Writer.Delete(ctx, v.Attachment); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("detached")
	return ctrl.Result{}, nil
}

// timedOut deletes the record of a pod in which something stays. While a finalizer keeps it, the
// operator tries again from time to time.
func (v *visit) timedOut(ctx context.Context, failure error) (ctrl.Result, error) {
	kept := v.kept()
	left := v.recordLeft(v.Agents(), failure, kept != "")
	if kept == "" {
		return v.detached(ctx)
	}
	v.noteFailure(failure, 0)
	v.Status().Attempt.NextTime = new(metav1.NewTime(v.Now.Add(statemachine.MaxBackoff)))
	return ctrl.Result{RequeueAfter: statemachine.MaxBackoff}, v.persistDetached(ctx, left+kept)
}

// failures returns how often the JVM that fails most was tried, and what prevents the
// detach: nil for nothing but events that are awaited.
func (v *visit) failures() (tries int32, failure error) {
	failures := []error{v.search}
	if v.withdrawal != nil && v.withdrawal.Kind != statemachine.Done {
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
	return tries, errors.Join(failures...)
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
