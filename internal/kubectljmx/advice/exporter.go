package advice

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Verdict is what keeps something from being Ready, and what to do about it.
type Verdict struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Next is the next step of a person.
	Next string `json:"next,omitempty"`
	// Docs is the section of the documentation about the reason.
	Docs string `json:"docs,omitempty"`
}

// Of returns the verdict about a reason.
func (s Subject) Of(reason, message string) Verdict {
	return Verdict{Reason: reason, Message: message, Next: s.Next(reason), Docs: Link(reason)}
}

// OfExporter returns the verdict about an exporter; the zero one if it is Ready.
func OfExporter(e *v1alpha1.PrometheusJmxExporter) Verdict {
	s := Subject{Namespace: e.Namespace, Exporter: e.Name}
	if e.Status.ObservedGeneration < 0 {
		return Verdict{Reason: NotProcessed, Message: "No operator has processed this exporter.", Next: CheckOperator}
	}
	if halt := e.Status.Halt; halt != nil {
		return Verdict{Reason: halt.Reason, Message: halt.Message, Next: "find the cause; then " + s.command("resume", e.Name), Docs: Link(halt.Reason)}
	}
	ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
	if config := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionConfigValid); config != nil && config.Status == metav1.ConditionFalse {
		return s.Of(config.Reason, config.Message)
	}
	if ready == nil || ready.Status == metav1.ConditionTrue && ready.Reason != v1alpha1.ReasonNoPodsMatched {
		return Verdict{}
	}
	verdict := s.Of(ready.Reason, ready.Message)
	switch ready.Reason {
	case v1alpha1.ReasonNoPodsMatched:
		verdict.Next = fmt.Sprintf("compare the selector with: kubectl get pods -n %s --show-labels", e.Namespace)
	case v1alpha1.ReasonPodsRefused:
		verdict.Next = "see each pod that is refused: " + s.command("why", "POD")
	case v1alpha1.ReasonProgressing:
		verdict.Next = nothing + "the operator continues; " + s.command("status --watch", e.Name)
	}
	return verdict
}
