package statemachine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var brewers = Vocabulary{Plan: brewing, KindOf: kindOf, Held: map[Phase]Held{
	mashed: {"IsMashed", "It is mashed."}, fermented: {"IsFermented", "It is fermented."},
	tasted: {"IsTasted", "It is tasted."}, bottled: {"IsBottled", "It is bottled."},
}}

// Ready is the condition of the first phase that does not hold, or of the one at which a record is
// ready.
func TestReportReady(t *testing.T) {
	waiting := metav1.Condition{Status: metav1.ConditionUnknown, Reason: ReasonWaiting, Message: "An earlier phase does not hold yet."}
	for name, tc := range map[string]struct {
		state State
		at    Phase
		want  metav1.Condition
	}{
		"the record is new":  {State{}, "", metav1.Condition{Status: metav1.ConditionUnknown, Reason: ReasonProgressing, Message: "This is the next phase."}},
		"a phase failed":     {State{Phase: mashed, Reason: reasonOf[Failed], Message: "m"}, "", metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonOf[Failed], Message: "m"}},
		"a phase is awaited": {State{Phase: mashed, Reason: reasonOf[Awaiting], Message: "m"}, "", metav1.Condition{Status: metav1.ConditionUnknown, Reason: reasonOf[Awaiting], Message: "m"}},
		"all phases hold":    {State{Phase: bottled}, "", metav1.Condition{Status: metav1.ConditionTrue, Reason: "IsBottled", Message: "It is bottled."}},
		"it is ready before its last phase, which failed": {
			State{Phase: tasted, Reason: reasonOf[Failed], Message: "m"}, tasted, metav1.Condition{Status: metav1.ConditionTrue, Reason: "IsTasted", Message: "It is tasted."},
		},
		"a phase before the one at which it is ready failed": {
			State{Reason: reasonOf[Failed], Message: "m"}, tasted, metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonOf[Failed], Message: "m"},
		},
		"the phase is unknown": {State{Phase: "Drunk"}, "", waiting},
	} {
		t.Run(name, func(t *testing.T) {
			v, record := brewers, Record{State: tc.state}
			v.ReadyAt = tc.at
			v.Report(&record, 1, noon)
			if n := len(record.Conditions); n != len(brewing.Phases())+1 {
				t.Fatalf("got %d conditions", n)
			}
			tc.want.Type, tc.want.ObservedGeneration, tc.want.LastTransitionTime = Ready, 1, metav1.NewTime(noon.Truncate(time.Second)) // what the API keeps
			if diff := cmp.Diff(tc.want, record.Conditions[len(brewing.Phases())]); diff != "" {
				t.Errorf("Ready (-want +got):\n%s", diff)
			}
		})
	}
}

// What a later phase said while it held is not left behind, and a condition moves only with its status.
func TestReportAgain(t *testing.T) {
	record := Record{State: State{Phase: bottled}, ObservedGeneration: -1}
	brewers.Report(&record, 1, noon)
	later := noon.Add(time.Hour + time.Millisecond)
	record.State = State{Phase: fermented, Reason: reasonOf[Failed], Message: "m"}
	changed := brewers.Report(&record, 2, later)
	if record.ObservedGeneration != 2 {
		t.Errorf("the observed generation is %d", record.ObservedGeneration)
	}
	type condition struct {
		Type   string
		Status metav1.ConditionStatus
		Moved  time.Time
	}
	var got []condition
	for _, c := range record.Conditions {
		got = append(got, condition{c.Type, c.Status, c.LastTransitionTime.Time})
		if c.ObservedGeneration != 2 {
			t.Errorf("%s is of generation %d", c.Type, c.ObservedGeneration)
		}
	}
	first := noon.Truncate(time.Second) // what the API keeps
	moved := first.Add(time.Hour)
	want := []condition{
		{string(mashed), metav1.ConditionTrue, first}, {string(fermented), metav1.ConditionTrue, first},
		{string(tasted), metav1.ConditionFalse, moved}, {string(bottled), metav1.ConditionUnknown, moved}, {Ready, metav1.ConditionFalse, moved},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(changed) != 3 {
		t.Errorf("%d conditions changed; all are (-want +got):\n%s", len(changed), diff)
	}
	before := record.DeepCopy()
	if changed := brewers.Report(&record, 2, later.Add(time.Hour)); len(changed) != 0 || !cmp.Equal(*before, record) {
		t.Errorf("the same report changed %v", changed)
	}
}

func TestVocabularyOutcome(t *testing.T) {
	err := errors.New("boiled over")
	want := &Outcome{Kind: Refused, Reason: reasonOf[Refused], Message: "m", Err: err}
	if got := brewers.Outcome(reasonOf[Refused], "m", err); *got != *want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A status embeds a Record: its fields are those of the status.
func TestRecordInline(t *testing.T) {
	var status struct {
		Record `json:",inline"`
		Liters int32 `json:"liters"`
	}
	status.State.Record(mashed, "k", Outcome{Kind: Failed, Reason: "Cold", Message: "Heat it.", Err: errors.New("no fire")}, noon)
	status.Attempt.NextTime = &metav1.Time{Time: noon}
	data, err := json.Marshal(status)
	want := `{"reason":"Cold","message":"Heat it.","attempt":{"key":"k","phase":"Mashed","count":1,"lastError":"no fire","nextTime":"` +
		noon.UTC().Format(time.RFC3339) + `"},"liters":0}`
	if err != nil || string(data) != want {
		t.Errorf("the status is %s: %v; want %s", data, err, want)
	}
}

// A message that the API server would refuse would keep the record from being written at all.
func TestMessagesAreCut(t *testing.T) {
	long, want := strings.Repeat("x", maxText-1)+"ö", strings.Repeat("x", maxText-1)
	var state State
	state.Record(mashed, "k", Outcome{Kind: Failed, Message: long}, noon)
	if state.Message != want {
		t.Errorf("the message of an Outcome has %d bytes", len(state.Message))
	}
	state = State{Phase: bottled}
	if _, err := brewing.Regress(&state, Cause{Back: "Soured", Message: long}); err != nil || state.Message != want {
		t.Errorf("the message of a Cause has %d bytes: %v", len(state.Message), err)
	}
}
