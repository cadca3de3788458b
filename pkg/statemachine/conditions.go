package statemachine

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Held is the reason and message of a condition.
type Held struct{ Reason, Message string }

// Conditions returns one condition per phase. Phases up to state.Phase are True, with
// reason and message from held; the next phase has the State's reason and message, or
// those of next if there are none; phases after it are Unknown with those of later.
func (p *Plan) Conditions(state State, kindOf func(reason string) Kind, held func(Phase) Held, next, later Held) []metav1.Condition {
	at := cmp.Or(state.Phase, p.initial)
	upcoming, _ := p.Next(at)
	var conditions []metav1.Condition
	for _, phase := range p.Phases() {
		c := metav1.Condition{Type: string(phase), Status: metav1.ConditionUnknown, Reason: later.Reason, Message: later.Message}
		switch {
		case p.Reached(at, phase):
			h := held(phase)
			c.Status, c.Reason, c.Message = metav1.ConditionTrue, h.Reason, h.Message
		case phase == upcoming && state.Reason == "":
			c.Reason, c.Message = next.Reason, next.Message
		case phase == upcoming:
			c.Status, c.Reason, c.Message = kindOf(state.Reason).Status(), state.Reason, state.Message
		}
		conditions = append(conditions, c)
	}
	return conditions
}

// SetConditions sets conditions with the given generation. The transition time changes
// only with the status, so setting the same conditions again changes nothing. It returns
// the conditions whose status or reason changed.
func SetConditions(conditions *[]metav1.Condition, generation int64, now metav1.Time, stated ...metav1.Condition) (changed []metav1.Condition) {
	for _, c := range stated {
		c.ObservedGeneration, c.LastTransitionTime = generation, now
		before := meta.FindStatusCondition(*conditions, c.Type)
		if before == nil || before.Status != c.Status || before.Reason != c.Reason {
			changed = append(changed, c)
		}
		meta.SetStatusCondition(conditions, c)
	}
	return changed
}
