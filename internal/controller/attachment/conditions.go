package attachment

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// What a condition says that no longer holds, by the event that took it away.
var (
	lost = map[statemachine.Event]string{
		statemachine.Replaced:       v1alpha1.ReasonReplaced,
		statemachine.ConfigChanged:  v1alpha1.ReasonConfigChanged,
		statemachine.AgentChanged:   v1alpha1.ReasonAgentChanged,
		statemachine.EndpointLost:   v1alpha1.ReasonEndpointLost,
		statemachine.AnnotationLost: v1alpha1.ReasonAnnotationLost,
	}
	lostMessages = map[statemachine.Event]string{
		statemachine.Replaced:       "The container or the JVM is another one than recorded; it is looked for again.",
		statemachine.ConfigChanged:  "The configuration or the agent wanted is another one than staged.",
		statemachine.AgentChanged:   "The agent does not serve what is wanted now; it is told.",
		statemachine.EndpointLost:   "The endpoint is not in an EndpointSlice any more; it is asked again.",
		statemachine.AnnotationLost: "Our annotations are not on the pod any more.",
	}
)

// state states phase, reason and all conditions together, so that they cannot
// disagree: True up to the machine's phase, the outcome on the next one, Unknown
// after it. It tells whether the outcome is new.
func (w *walk) state(step steps.Step, outcome steps.Outcome) (changed bool) {
	status := w.scope.Status()
	reached := w.machine.Phase()
	status.Phase, status.Reason = v1alpha1.Phase(reached), ""

	for _, phase := range v1alpha1.Phases() {
		c := metav1.Condition{Type: string(phase), Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotReached, Message: "An earlier phase is not reached yet."}
		switch {
		case step != nil && outcome.Kind == steps.Done && phase == v1alpha1.Phase(step.Phase()):
			c.Status, c.Reason, c.Message = outcome.Status(), outcome.Reason, outcome.Message
		case reached.Reached(statemachine.Phase(phase)):
			continue
		case status.Reason == "" && outcome.Kind == steps.Done:
			c.Message = "This is the next phase."
			status.Reason = c.Reason
		case status.Reason == "":
			c.Status, c.Reason, c.Message = outcome.Status(), outcome.Reason, outcome.Message
			status.Reason = c.Reason
		}
		changed = w.set(c) || changed
	}
	w.set(w.ready())
	return changed
}

// ready sums up: it holds when all phases do, and else says what the first one
// says that does not.
func (w *walk) ready() metav1.Condition {
	for _, phase := range v1alpha1.Phases() {
		if c := meta.FindStatusCondition(w.scope.Status().Conditions, string(phase)); c.Status != metav1.ConditionTrue {
			return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message}
		}
	}
	return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReached, Message: "Prometheus finds the pod's metrics."}
}

// set tells whether the condition's status or reason changed. The transition
// time moves with the status only.
func (w *walk) set(c metav1.Condition) bool {
	conditions := &w.scope.Status().Conditions
	before := meta.FindStatusCondition(*conditions, c.Type)
	changed := before == nil || before.Status != c.Status || before.Reason != c.Reason
	c.LastTransitionTime = metav1.NewTime(w.Clock.Now()).Rfc3339Copy()
	meta.SetStatusCondition(conditions, c)
	return changed
}
