package attachment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// persist sets phase, reason and conditions, derived from the state of the pod and its
// JVMs, and writes the record, unless that can be deferred.
func (v *visit) persist(ctx context.Context) error {
	if v.deferrable() {
		return nil
	}
	changed := v.setConditions()
	if err := v.write(ctx); err != nil {
		return err
	}
	v.recordConditions(ctx, changed)
	return nil
}

// deferrable reports whether a reconcile that found no capacity leaves the record to the next
// one. Nothing was tried, and nothing was observed that the next one does not observe, too:
// decisions are pure, and it makes the same ones. A detach that is over has to be known.
func (v *visit) deferrable() bool {
	return v.tries.queued && !v.tries.tried && !v.lost && len(v.EndpointHealth) == 0 && v.Begun.DetachStartTime == nil
}

// setConditions sets phase, reason and all conditions together, so that they cannot
// disagree: they are derived from the pod's own state and those of its JVMs. It returns
// the conditions whose status or reason changed.
func (v *visit) setConditions() (changed []metav1.Condition) {
	state, status := v.Sum(v.State), v.Status()
	status.ObservedGeneration = v.Attachment.Generation
	status.Phase = v1alpha1.Phase(cmp.Or(state.Phase, steps.Pending))
	status.AgentLoading = record.AgentLoading(status.Processes)
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
	ready.Message += v.kept()
	conditions = append(append(conditions, ready), v.Notices()...)
	for _, kind := range record.NoticeConditions { // there only while True
		if !slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Type == kind }) {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
	return statemachine.SetConditions(&status.Conditions, v.Attachment.Generation, metav1.NewTime(v.Clock.Now()).Rfc3339Copy(), conditions...)
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

// persistBegun records that the pod is being detached, before the first operation in it:
// its timeout starts here.
func (v *visit) persistBegun(ctx context.Context) error {
	if v.Status().Reason == v1alpha1.ReasonDetaching {
		return nil
	}
	return v.persistDetaching(ctx, nil, 0)
}

// kept returns a sentence about the finalizers that keep a deleted record, with a space before it;
// empty if the record is not deleted.
func (v *visit) kept() string {
	a := v.Attachment
	if a.DeletionTimestamp.IsZero() || len(a.Finalizers) == 0 {
		return ""
	}
	return fmt.Sprintf(" This JmxAttachment is deleted, and its finalizers (%s) keep it: remove them from metadata.finalizers.", text.Line(strings.Join(a.Finalizers, ", "), 200))
}

// persistDetached records that the detach is over, although its record stays.
func (v *visit) persistDetached(ctx context.Context, message string) error {
	v.Status().Reason = v1alpha1.ReasonDetaching
	statemachine.SetConditions(&v.Status().Conditions, v.Attachment.Generation, v.Now, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching, Message: message,
	})
	return v.write(ctx)
}

// persistDetaching records that the pod is being detached, what prevents it, and how
// often it was tried.
func (v *visit) persistDetaching(ctx context.Context, failure error, tries int32) error {
	status := v.Status()
	status.Reason = v1alpha1.ReasonDetaching
	message := "The operator is detaching from the pod."
	if failure != nil {
		message = fmt.Sprintf("The operator is detaching from the pod; retrying for %s: %s.", status.DetachTimeout.Duration, v.noteFailure(failure, tries))
	}
	statemachine.SetConditions(&status.Conditions, v.Attachment.Generation, v.Now, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonDetaching, Message: message + v.kept(),
	})
	return v.write(ctx)
}

// noteFailure records what prevents the detach, and how often it was tried; 0 for what no JVM
// counts. It returns the failure for a message.
func (v *visit) noteFailure(failure error, tries int32) string {
	status, cause := v.Status(), text.Line(failure.Error(), 600)
	attempt := &v1alpha1.Attempt{Key: v1alpha1.ReasonDetaching, Phase: cmp.Or(status.Phase, v1alpha1.PhasePending), Count: tries, LastError: cause}
	if tries == 0 {
		attempt.Count = 1 + status.Attempt.Tries()
	}
	status.Attempt = attempt
	return cause
}
