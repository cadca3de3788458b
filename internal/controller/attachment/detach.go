package attachment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/attach"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// detach withdraws the annotations of a pod and stops the agents in it. That it
// began stands in the record before the first one is stopped, so that a pod that
// comes back is looked at anew. What fails is tried again until spec.detach.timeout
// is over; then it is told, and let go of. It is over when again is 0.
func (r *Reconciler) detach(ctx context.Context, attachment *v1alpha1.JmxAttachment, pod *corev1.Pod) (again time.Duration, err error) {
	status := &attachment.Status
	if status.Phase == "" && status.DetachStartTime == nil { // nobody has looked at it, nor at its exporter
		status.DetachTimeout.Duration = usualDetach
	}
	remaining := status.DetachTimeout.Duration
	if status.DetachStartTime != nil {
		remaining -= r.Clock.Since(status.DetachStartTime.Time)
		if remaining <= 0 && status.Attempt != nil { // it was tried
			r.tellLeft(attachment, pod, agentsIn(attachment, pod))
			return 0, nil
		}
	}
	// A pod whose turn never came has nothing of ours in it.
	looked := status.Inspected != nil && len(status.Inspected.ContainerIDs) > 0
	unknown := !looked && (status.Revision != "" || status.DetachStartTime != nil ||
		len(status.Processes) > 0 || pod.Annotations[steps.AnnotationFlag] != "")
	// In time for what is said of it afterwards.
	ctx, cancel := context.WithTimeout(ctx, longestDetach)
	defer cancel()
	withdrawn := steps.Withdraw(ctx, r.Writer, pod)
	if withdrawn != nil {
		r.tellNotWithdrawn(attachment, pod, withdrawn)
		withdrawn = fmt.Errorf("the annotations cannot be withdrawn: %s", text.Denial(withdrawn))
	}
	agents := agentsIn(attachment, pod)
	if len(agents) > 0 || withdrawn != nil || unknown {
		if err := r.stateDetaching(ctx, attachment, nil); err != nil {
			return 0, err
		}
	}
	if status.DetachStartTime != nil && r.stillPublished(ctx, attachment, pod) && r.Clock.Since(status.DetachStartTime.Time) < unpublishing {
		return time.Second, nil
	}
	if queued(r.sweep(ctx, attachment, pod)) {
		return wait.Jitter(queuedFor, 1), nil
	}
	agents = agentsIn(attachment, pod) // those that were swept are not on record any more
	stopped, failure := r.stop(ctx, pod, agents, unknown)
	if queued(failure) {
		return wait.Jitter(queuedFor, 1), nil
	}
	r.tellDetached(attachment, pod, stopped)
	if failure = errors.Join(withdrawn, failure); failure == nil {
		return 0, nil
	}
	var ids []steps.ProcessIdentity // before they move
	for _, p := range stopped {
		ids = append(ids, steps.Identity(p))
	}
	status.Processes = slices.DeleteFunc(status.Processes, func(p v1alpha1.JavaProcess) bool { return slices.Contains(ids, steps.Identity(&p)) })
	if err := r.stateDetaching(ctx, attachment, failure); err != nil {
		return 0, err
	}
	return max(min(backoff(status.Attempt.Count), remaining), time.Millisecond), nil
}

// usualDetach is the default of spec.detach.timeout.
const usualDetach = 2 * time.Minute

// longestDetach leaves room in ReconciliationTimeout for writing what came of it.
const longestDetach = 4 * time.Minute

// agentsIn are the processes on record with an agent of ours, whose container runs.
func agentsIn(attachment *v1alpha1.JmxAttachment, pod *corev1.Pod) []*v1alpha1.JavaProcess {
	var agents []*v1alpha1.JavaProcess
	for i := range attachment.Status.Processes {
		if p := &attachment.Status.Processes[i]; steps.Ours(p) && steps.Runs(pod, p) {
			agents = append(agents, p)
		}
	}
	return agents
}

// stop stops the agents on record, and where that does not know all, those that
// are found. It returns those that are stopped.
func (r *Reconciler) stop(ctx context.Context, pod *corev1.Pod, agents []*v1alpha1.JavaProcess, unknown bool) (stopped []*v1alpha1.JavaProcess, err error) {
	var failed []error
	if unknown {
		found, err := steps.Agents(ctx, r.Helper, pod)
		agents, failed = together(agents, found), append(failed, err)
	}
	for _, p := range agents {
		err := r.unload(ctx, pod, p)
		if queued(err) {
			return nil, err
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("the agent of process %d in container %s cannot be stopped: %w", p.PID, p.Container, err))
			continue
		}
		stopped = append(stopped, p)
	}
	return stopped, errors.Join(failed...)
}

// sweep removes the helper from containers that it looked into and in which no
// agent is: with an agent goes all. What cannot be removed stays, and does nothing.
func (r *Reconciler) sweep(ctx context.Context, attachment *v1alpha1.JmxAttachment, pod *corev1.Pod) error {
	done := map[string]bool{}
	for _, p := range agentsIn(attachment, pod) {
		done[p.Container] = true
	}
	status := &attachment.Status
	for i := range status.Processes {
		p := &status.Processes[i]
		if done[p.Container] || !steps.Runs(pod, p) {
			continue
		}
		if err := r.unload(ctx, pod, p); queued(err) {
			return err
		} else if err != nil {
			ctrl.LoggerFrom(ctx).Info("the helper is left", "container", p.Container, "error", err)
		}
		done[p.Container] = true
	}
	status.Processes = slices.DeleteFunc(status.Processes, func(p v1alpha1.JavaProcess) bool { return !steps.Ours(&p) })
	return nil
}

// queued tells that there was no place for the exec.
func queued(err error) bool {
	known, ok := errors.AsType[*transport.Error](err)
	return ok && known.Reason == v1alpha1.ReasonQueued
}

func (r *Reconciler) unload(ctx context.Context, pod *corev1.Pod, p *v1alpha1.JavaProcess) error {
	_, err := r.Helper.Run(ctx, steps.Target(pod, p.Container), attach.VerbUnload,
		attach.Request{Target: &attach.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)}})
	return err
}

// together are the agents on record and those that are found, each once.
func together(known, found []*v1alpha1.JavaProcess) []*v1alpha1.JavaProcess {
	for _, p := range found {
		i := slices.IndexFunc(known, func(k *v1alpha1.JavaProcess) bool { return steps.Identity(k) == steps.Identity(p) })
		if i < 0 {
			known = append(known, p)
			continue
		}
		known[i].Port = cmp.Or(known[i].Port, p.Port)
	}
	return known
}

// stateDetaching states that the pod is being taken out, since when, and what
// keeps it.
func (r *Reconciler) stateDetaching(ctx context.Context, attachment *v1alpha1.JmxAttachment, failure error) error {
	before := attachment.Status.DeepCopy()
	status := &attachment.Status
	if status.DetachStartTime == nil {
		status.DetachStartTime, status.Attempt = new(r.now()), nil
	}
	status.Reason = v1alpha1.ReasonDetaching
	message := "The pod is being taken out."
	if status.Attempt != nil {
		message = meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).Message
	}
	if failure != nil {
		cause := text.Line(failure.Error(), 600)
		message = fmt.Sprintf("The pod is being taken out, and tried again for %s: %s", status.DetachTimeout.Duration, cause)
		attempt := &v1alpha1.Attempt{Key: v1alpha1.ReasonDetaching, Phase: attemptPhase(status), Count: 1, LastError: cause}
		if status.Attempt != nil {
			attempt.Count += status.Attempt.Count
		}
		status.Attempt = attempt
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching, Message: message,
		LastTransitionTime: r.now(),
	})
	if equality.Semantic.DeepEqual(before, status) {
		return nil
	}
	return r.Writer.AttachmentStatus(ctx, attachment, status)
}

// attemptPhase is the phase that the record is in; there is none before the first.
func attemptPhase(status *v1alpha1.JmxAttachmentStatus) v1alpha1.Phase {
	if status.Phase == "" {
		return v1alpha1.PhasePending
	}
	return status.Phase
}

func (r *Reconciler) now() metav1.Time { return metav1.NewTime(r.Clock.Now()).Rfc3339Copy() }
