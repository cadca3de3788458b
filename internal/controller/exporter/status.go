package exporter

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/problem"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// maxListed is the maximum number of endpoints in the status; the EndpointSlices list
// all.
const maxListed = 1000

// sum writes the status if it differs, and records Events for what is new in it.
func (r *Reconciler) sum(ctx context.Context, f *fleet) error {
	before := f.exporter.Status
	status := r.status(f)
	if equality.Semantic.DeepEqual(&before, status) {
		return nil
	}
	if err := r.Writer.ExporterStatus(ctx, f.exporter, status); err != nil {
		return err
	}
	r.announce(f.exporter, before.Conditions, status.Conditions)
	problem.Announce(r.Recorder, f.exporter, before.ProblemPods, status.ProblemPods)
	return nil
}

func (r *Reconciler) status(f *fleet) *v1alpha1.PrometheusJmxExporterStatus {
	status := &v1alpha1.PrometheusJmxExporterStatus{
		ObservedGeneration: f.exporter.Generation,
		Matched:            int32(f.matched()),
		Refused:            int32(len(f.claimed)),
		ServiceName:        selection.ServiceName(f.exporter),
		Phase:              f.phase(),
		Phases:             f.phases(),
		Revision:           f.rollout.revision,
		Halt:               f.rollout.halt,
		Preflight:          f.preflight(),
		ProblemPodCount:    f.problems.Pods,
		ProblemPods:        f.problems.Entries,
		ProblemPodsOmitted: f.problems.Omitted,
	}
	for _, m := range f.members {
		if m.refused() {
			status.Refused++
		}
		if f.rollout.updated(m) {
			status.Updated++
		}
		for _, e := range m.exposed() {
			if len(status.MetricsEndpoints) == maxListed {
				status.MetricsEndpointsOmitted++
				continue
			}
			status.MetricsEndpoints = append(status.MetricsEndpoints, e)
		}
	}
	if f.preflighting() && len(status.MetricsEndpoints) == 0 { // there may be none
		status.ServiceName = ""
	}
	status.Pods = fmt.Sprintf("%d/%d", f.count(v1alpha1.PhaseAnnotated), status.Matched)

	status.Conditions = append([]metav1.Condition(nil), f.exporter.Status.Conditions...)
	if !f.preflighting() {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionPreflightComplete)
	}
	for _, c := range f.conditions(status) {
		c.ObservedGeneration = f.exporter.Generation
		c.LastTransitionTime = metav1.NewTime(r.Clock.Now()).Rfc3339Copy()
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

// matched returns the number of pods that the exporter selects.
func (f *fleet) matched() int { return len(f.members) + len(f.claimed) + len(f.detaching) }

// exposed returns the endpoints of a member whose Exposed is True.
func (m member) exposed() []v1alpha1.MetricsEndpoint {
	if m.attachment == nil || !meta.IsStatusConditionTrue(m.attachment.Status.Conditions, string(v1alpha1.PhaseExposed)) {
		return nil
	}
	var exposed []v1alpha1.MetricsEndpoint
	for _, p := range m.attachment.Status.Processes {
		if p.Endpoint != nil {
			exposed = append(exposed, v1alpha1.MetricsEndpoint{Pod: m.pod.Name, Container: p.Container, Port: p.Endpoint.Port})
		}
	}
	return exposed
}

// phase returns the phase of the least advanced member, refused ones aside.
func (f *fleet) phase() v1alpha1.Phase {
	if len(f.members)+len(f.claimed) == 0 || len(f.detaching) > 0 {
		return v1alpha1.PhasePending
	}
	for _, p := range append([]v1alpha1.Phase{v1alpha1.PhasePending}, v1alpha1.Phases()...) {
		for _, m := range f.members {
			if !m.refused() && m.phase() == p {
				return p
			}
		}
	}
	return v1alpha1.PhaseRefused
}

func (f *fleet) count(phase v1alpha1.Phase) int32 {
	var n int32
	if phase == v1alpha1.PhasePending {
		n = int32(len(f.detaching))
	}
	for _, m := range f.members {
		if m.phase() == phase {
			n++
		}
	}
	return n
}

func (f *fleet) phases() []v1alpha1.PhaseCount {
	var counts []v1alpha1.PhaseCount
	for _, p := range append([]v1alpha1.Phase{v1alpha1.PhasePending}, v1alpha1.Phases()...) {
		if n := f.count(p); n > 0 {
			counts = append(counts, v1alpha1.PhaseCount{Phase: p, Count: n})
		}
	}
	return counts
}

// conditions returns all conditions, in the sense of kstatus.
func (f *fleet) conditions(status *v1alpha1.PrometheusJmxExporterStatus) []metav1.Condition {
	annotated := f.count(v1alpha1.PhaseAnnotated)
	refusals := f.refusals()
	progress := fmt.Sprintf("%d of %d matched pods are Annotated.", annotated, status.Matched)
	if behind := len(f.members) - int(status.Updated); behind > 0 {
		progress += fmt.Sprintf(" %d pods are pending or updating.", behind)
	}

	valid := condition(v1alpha1.ConditionConfigValid, true, v1alpha1.ReasonValid, "The configuration was read and accepted.")
	if f.inputs.Config.Warning != "" {
		valid.Reason, valid.Message = v1alpha1.ReasonUnknownKeysIgnored, f.inputs.Config.Warning
	}
	if p := f.inputs.Problem(); p != nil {
		valid = condition(v1alpha1.ConditionConfigValid, false, p.Reason, p.Message)
	}
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
	reconciling := condition(v1alpha1.ConditionReconciling, working, v1alpha1.ReasonProgressing, progress)
	if !working {
		reconciling.Reason, reconciling.Message = v1alpha1.ReasonReconciled, "Reconciled."
	}

	ready := condition(v1alpha1.ConditionReady, false, v1alpha1.ReasonProgressing, progress)
	switch {
	case f.failure != nil:
		ready, reconciling = f.failed()
	case stalled.Status == metav1.ConditionTrue:
		ready.Reason, ready.Message = stalled.Reason, stalled.Message
	case status.Matched == 0:
		ready.Reason, ready.Message = v1alpha1.ReasonNoPodsMatched, "No running pod in the namespace matches spec.labelSelector."
	case unfinished && f.exporter.Spec.Suspend:
		ready.Reason, ready.Message = v1alpha1.ReasonSuspended, progress+" The exporter is suspended (spec.suspend)."
	case !working:
		ready = condition(v1alpha1.ConditionReady, true, v1alpha1.ReasonAllAnnotated, progress)
	}
	return []metav1.Condition{ready, reconciling, stalled, valid}
}

// releasing counts the pods with an excluded JVM that may still have the agent. Their
// other JVMs keep them Annotated meanwhile.
func (f *fleet) releasing() int {
	n := 0
	for _, m := range f.members {
		if m.attachment != nil && slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool {
			return p.Excluded && record.MayHaveAgent(&p)
		}) {
			n++
		}
	}
	return n
}

// failed returns Ready and Reconciling for a failed write.
func (f *fleet) failed() (ready, reconciling metav1.Condition) {
	message := "The exporter's records, Service or EndpointSlices cannot be written: " + text.Denial(f.failure) + "."
	return condition(v1alpha1.ConditionReady, false, v1alpha1.ReasonAPIError, message),
		condition(v1alpha1.ConditionReconciling, true, v1alpha1.ReasonAPIError, message)
}

// refusals lists the refused pods with their reasons, by pod name.
func (f *fleet) refusals() []string {
	var refusals []string
	for _, m := range f.members {
		if m.refused() {
			refusals = append(refusals, fmt.Sprintf("%s: %s", m.pod.Name, m.attachment.Status.Reason))
		}
	}
	for _, c := range f.claimed {
		refusals = append(refusals, fmt.Sprintf("%s: %s by the older exporter %s", c.pod, v1alpha1.ReasonPodClaimed, c.owner))
	}
	return refusals
}

// listed returns a sentence with the first few refusals.
func listed(refusals []string) string {
	const few = 3
	if len(refusals) <= few {
		return "Refused pods: " + strings.Join(refusals, "; ") + "."
	}
	return fmt.Sprintf("Refused pods: %s; and %d more.", strings.Join(refusals[:few], "; "), len(refusals)-few)
}

func condition(kind string, holds bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// announce records Events for conditions that became True or have a new reason.
func (r *Reconciler) announce(exporter *v1alpha1.PrometheusJmxExporter, before, after []metav1.Condition) {
	tell := func(kind, eventType, action string, when metav1.ConditionStatus) {
		was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		if is != nil && is.Status == when && (was == nil || was.Status != is.Status || was.Reason != is.Reason) {
			r.Recorder.Eventf(exporter, nil, eventType, is.Reason, action, "%s", text.Note(is.Message))
		}
	}
	tell(v1alpha1.ConditionReady, corev1.EventTypeNormal, "Attach", metav1.ConditionTrue)
	tell(v1alpha1.ConditionPreflightComplete, corev1.EventTypeNormal, "Inspect", metav1.ConditionTrue)
	tell(v1alpha1.ConditionStalled, corev1.EventTypeWarning, "Attach", metav1.ConditionTrue)
}
