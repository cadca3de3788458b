package exporter

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/problem"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// sum is what the status says of a reconcile beyond the fleet itself.
type sum struct {
	*fleet
	// problems are the pods that match the selector but do not run.
	problems problem.Found
	// failure is the error that prevented writing records, Service or slices.
	failure error
	// unkept is what could not be done to keep the configuration, and why; empty for nothing.
	unkept string
	now    metav1.Time
}

// conditions returns all conditions, in the sense of kstatus.
func (f sum) conditions(status *v1alpha1.PrometheusJmxExporterStatus) []metav1.Condition {
	annotated := f.count(v1alpha1.PhaseAnnotated)
	refusals := f.refusals()
	progress := fmt.Sprintf("%d of %d matched pods are Annotated.", annotated, status.Matched)
	if behind := len(f.members) - int(status.Updated); behind > 0 {
		progress += fmt.Sprintf(" %d pods are pending or updating.", behind)
	}

	valid := f.valid()
	if f.preflighting() {
		ready, reconciling, stalled, complete := f.preflightConditions(status)
		if f.failure != nil {
			ready, reconciling = f.failed()
		}
		return []metav1.Condition{ready, reconciling, stalled, valid, complete}
	}
	stalled := condition(v1alpha1.ConditionStalled, false, v1alpha1.ReasonReconciled, "No manual action is required.")
	switch {
	case valid.Status == metav1.ConditionFalse:
		stalled = condition(v1alpha1.ConditionStalled, true, valid.Reason, valid.Message)
	case status.Halt != nil:
		stalled = condition(v1alpha1.ConditionStalled, true, status.Halt.Reason, status.Halt.Message)
	case len(refusals) > 0:
		stalled = condition(v1alpha1.ConditionStalled, true, v1alpha1.ReasonPodsRefused, listed(refusals))
	}
	releasing := f.releasing()
	if releasing > 0 {
		progress += fmt.Sprintf(" The agent is being stopped in the excluded JVMs of %d pods.", releasing)
	}
	unfinished := int(status.Matched) > int(annotated)+len(refusals) || int(status.Updated) < len(f.members) || releasing > 0
	working := unfinished && valid.Status == metav1.ConditionTrue && status.Halt == nil && !f.exporter.Spec.Suspend
	reason, message := f.rollout.progressing(progress)
	reconciling := condition(v1alpha1.ConditionReconciling, working, reason, message)
	if !working {
		reconciling.Reason, reconciling.Message = v1alpha1.ReasonReconciled, "Reconciled."
	}

	ready := condition(v1alpha1.ConditionReady, false, reason, message)
	switch {
	case f.failure != nil:
		ready, reconciling = f.failed()
	case stalled.Status == metav1.ConditionTrue:
		ready.Reason, ready.Message = stalled.Reason, stalled.Message
	case status.Matched == 0:
		ready = condition(v1alpha1.ConditionReady, true, v1alpha1.ReasonNoPodsMatched, noPodsMatched)
	case unfinished && f.exporter.Spec.Suspend:
		ready.Reason, ready.Message = v1alpha1.ReasonSuspended, progress+" The exporter is suspended (spec.suspend)."
	case !working:
		ready = condition(v1alpha1.ConditionReady, true, v1alpha1.ReasonAllAnnotated, progress)
	}
	return []metav1.Condition{ready, reconciling, stalled, valid}
}

// valid returns ConfigValid. If several inputs are invalid, its message names all of them.
func (f sum) valid() metav1.Condition {
	valid := condition(v1alpha1.ConditionConfigValid, true, v1alpha1.ReasonValid, "The configuration was read and accepted.")
	if warning := f.inputs.Config.Warning; warning != nil {
		valid.Reason, valid.Message = warning.Reason, warning.Message
	}
	valid.Message = strings.TrimSpace(valid.Message + " " + f.unkept)
	if p := f.inputs.Problem(); p != nil {
		valid = condition(v1alpha1.ConditionConfigValid, false, p.Reason, p.Message)
		for _, other := range []*steps.Problem{f.inputs.Security.Problem, f.inputs.ProcessRules} {
			if other != nil && other != p {
				valid.Message += " " + other.Message
			}
		}
	}
	return valid
}

// failed returns Ready and Reconciling for a failed write.
func (f sum) failed() (ready, reconciling metav1.Condition) {
	message := "The exporter's records, Service or EndpointSlices cannot be written: " + text.Denial(f.failure) + "."
	return condition(v1alpha1.ConditionReady, false, v1alpha1.ReasonAPIError, message),
		condition(v1alpha1.ConditionReconciling, true, v1alpha1.ReasonAPIError, message)
}

// listed returns a sentence with the first few refusals.
func listed(refusals []string) string { return "Refused pods: " + firstFew(refusals) + "." }
