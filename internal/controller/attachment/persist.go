package attachment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
