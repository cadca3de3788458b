package statemachine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConditions(t *testing.T) {
	type status struct {
		Status          metav1.ConditionStatus
		Reason, Message string
	}
	var (
		next  = status{metav1.ConditionUnknown, "Next", "It is next."}
		later = status{metav1.ConditionUnknown, "Later", "It comes later."}
		holds = func(p Phase) status { return status{metav1.ConditionTrue, "Is" + string(p), string(p) + " holds."} }
	)
	for name, tc := range map[string]struct {
		state State
		want  []status
	}{
		"the record is new": {State{}, []status{next, later, later, later}},
		"nothing was tried since the last phase": {
			State{Phase: fermented}, []status{holds(mashed), holds(fermented), next, later},
		},
		"the next phase is pending": {
			State{Phase: mashed, Reason: reasonOf[Pending], Message: "m"},
			[]status{holds(mashed), {metav1.ConditionUnknown, reasonOf[Pending], "m"}, later, later},
		},
		"the next phase awaits an event": {
			State{Phase: mashed, Reason: reasonOf[Awaiting], Message: "m"},
			[]status{holds(mashed), {metav1.ConditionUnknown, reasonOf[Awaiting], "m"}, later, later},
		},
		"the next phase failed": {
			State{Reason: reasonOf[Failed], Message: "m"},
			[]status{{metav1.ConditionFalse, reasonOf[Failed], "m"}, later, later, later},
		},
		"the next phase is broken": {
			State{Phase: tasted, Reason: reasonOf[Broken], Message: "m"},
			[]status{holds(mashed), holds(fermented), holds(tasted), {metav1.ConditionFalse, reasonOf[Broken], "m"}},
		},
		"the next phase is refused": {
			State{Phase: mashed, Reason: reasonOf[Refused], Message: "m"},
			[]status{holds(mashed), {metav1.ConditionFalse, reasonOf[Refused], "m"}, later, later},
		},
		"the reason is of an unknown kind": {
			State{Phase: mashed, Reason: "Mystery", Message: "m"},
			[]status{holds(mashed), {metav1.ConditionUnknown, "Mystery", "m"}, later, later},
		},
		"all phases hold": {
			State{Phase: bottled}, []status{holds(mashed), holds(fermented), holds(tasted), holds(bottled)},
		},
		"the phase is unknown": {State{Phase: "Drunk", Reason: reasonOf[Failed]}, []status{later, later, later, later}},
	} {
		t.Run(name, func(t *testing.T) {
			conditions := brewing.Conditions(tc.state, kindOf,
				func(p Phase) Held { h := holds(p); return Held{h.Reason, h.Message} },
				Held{next.Reason, next.Message}, Held{later.Reason, later.Message})
			var got []status
			for i, c := range conditions {
				if c.Type != string(brewing.Phases()[i]) {
					t.Errorf("type of condition %d: got %s", i, c.Type)
				}
				got = append(got, status{c.Status, c.Reason, c.Message})
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetConditions(t *testing.T) {
	start := time.Unix(1_000_000_000, 0)
	stated := metav1.Condition{Type: "Mashed", Status: metav1.ConditionFalse, Reason: "Cold", Message: "The water is cold."}
	other := metav1.Condition{Type: "Sold", Status: metav1.ConditionTrue, Reason: "Sold", LastTransitionTime: metav1.NewTime(start)}
	for name, tc := range map[string]struct {
		change         func(c *metav1.Condition)
		moved, changed bool
	}{
		"nothing changes":            {func(*metav1.Condition) {}, false, false},
		"the message changes":        {func(c *metav1.Condition) { c.Message = "It is still cold." }, false, false},
		"the reason changes":         {func(c *metav1.Condition) { c.Reason = "Frozen" }, false, true},
		"the status becomes Unknown": {func(c *metav1.Condition) { c.Status = metav1.ConditionUnknown }, true, true},
		"the status becomes True":    {func(c *metav1.Condition) { c.Status, c.Reason = metav1.ConditionTrue, "Warm" }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			conditions := []metav1.Condition{other}
			if changed := SetConditions(&conditions, 1, metav1.NewTime(start), stated); len(changed) != 1 {
				t.Errorf("a new condition is not reported as changed: %v", changed)
			}

			later, want := metav1.NewTime(start.Add(time.Hour)), stated
			tc.change(&want)
			changed := SetConditions(&conditions, 2, later, want)

			want.ObservedGeneration, want.LastTransitionTime = 2, metav1.NewTime(start)
			if tc.moved {
				want.LastTransitionTime = later
			}
			if diff := cmp.Diff([]metav1.Condition{other, want}, conditions); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if (len(changed) == 1) != tc.changed {
				t.Errorf("changed: got %v, want a change: %t", changed, tc.changed)
			}
		})
	}
}
