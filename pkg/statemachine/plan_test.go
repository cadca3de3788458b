package statemachine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The plan of a brewery. Fermented may be effected only once, and Tasted only
// observes.
const (
	ordered   Phase = "Ordered"
	mashed    Phase = "Mashed"
	fermented Phase = "Fermented"
	tasted    Phase = "Tasted"
	bottled   Phase = "Bottled"
)

var brewing = MustPlan(ordered,
	[]Stage{{mashed, "Mash"}, {fermented, "Ferment"}, {tasted, "Taste"}, {bottled, "Bottle"}},
	WayBack{"Spilled", ordered}, WayBack{"Soured", mashed}, WayBack{"Broke", tasted})

// many are n stages.
func many(n int) []Stage {
	var stages []Stage
	for i := range n {
		stages = append(stages, Stage{Phase(fmt.Sprintf("P%d", i)), fmt.Sprintf("t%d", i)})
	}
	return stages
}

func TestNewPlanRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		initial  Phase
		stages   []Stage
		waysBack []WayBack
		want     string
	}{
		"the initial phase is empty":           {initial: "", stages: []Stage{{"B", "b"}}, want: `phase ""`},
		"a phase is empty":                     {initial: "A", stages: []Stage{{"", "b"}}, want: `phase ""`},
		"a phase is duplicate":                 {initial: "A", stages: []Stage{{"B", "b"}, {"B", "c"}}, want: `phase "B"`},
		"the initial phase is a stage":         {initial: "A", stages: []Stage{{"A", "b"}}, want: `phase "A"`},
		"a transition is empty":                {initial: "A", stages: []Stage{{"B", ""}}, want: `transition ""`},
		"a transition is duplicate":            {initial: "A", stages: []Stage{{"B", "b"}, {"C", "b"}}, want: `transition "b"`},
		"a way back is empty":                  {initial: "A", stages: []Stage{{"B", "b"}}, waysBack: []WayBack{{"", "A"}}, want: `transition ""`},
		"a way back is duplicate":              {initial: "A", stages: []Stage{{"B", "b"}}, waysBack: []WayBack{{"x", "A"}, {"x", "A"}}, want: `transition "x"`},
		"a way back has a transition's name":   {initial: "A", stages: []Stage{{"B", "b"}}, waysBack: []WayBack{{"b", "A"}}, want: `transition "b"`},
		"a way back leads to an unknown phase": {initial: "A", stages: []Stage{{"B", "b"}}, waysBack: []WayBack{{"x", "C"}}, want: `unknown phase "C"`},
		"a way back leads to the last phase":   {initial: "A", stages: []Stage{{"B", "b"}}, waysBack: []WayBack{{"x", "B"}}, want: "leads forward"},
		"a way back is in a plan of one phase": {initial: "A", waysBack: []WayBack{{"x", "A"}}, want: "leads forward"},
		"a phase is too long":                  {initial: "A", stages: []Stage{{Phase(strings.Repeat("B", 33)), "b"}}, want: "more than 32"},
		"no condition is left for Ready":       {initial: "A", stages: many(16), want: "16 phases"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := NewPlan(tc.initial, tc.stages, tc.waysBack...)
			if err == nil || p != nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("NewPlan = %v, %v; want an error with %s", p, err, tc.want)
			}
			defer func() {
				if recover() == nil {
					t.Error("MustPlan did not panic")
				}
			}()
			MustPlan(tc.initial, tc.stages, tc.waysBack...)
		})
	}
}

func TestPlanKeepsNoSliceOfItsCaller(t *testing.T) {
	stages := []Stage{{"B", "b"}, {"C", "c"}}
	p := MustPlan("A", stages)
	stages[0].Phase = "X"
	p.Phases()[1] = "Y"
	if diff := cmp.Diff([]Phase{"B", "C"}, p.Phases()); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

func TestNeighbors(t *testing.T) {
	for at, want := range map[Phase]struct{ previous, next Phase }{
		ordered:   {"", mashed},
		mashed:    {ordered, fermented},
		fermented: {mashed, tasted},
		tasted:    {fermented, bottled},
		bottled:   {tasted, ""},
		"Drunk":   {"", ""},
	} {
		if next, ok := brewing.Next(at); next != want.next || ok != (want.next != "") {
			t.Errorf("Next(%s) = %q, %t; want %q", at, next, ok, want.next)
		}
		if previous, ok := brewing.Previous(at); previous != want.previous || ok != (want.previous != "") {
			t.Errorf("Previous(%s) = %q, %t; want %q", at, previous, ok, want.previous)
		}
	}
}

func TestReached(t *testing.T) {
	order := append([]Phase{brewing.initial}, brewing.Phases()...)
	for i, a := range order {
		for j, b := range order {
			if got := brewing.Reached(a, b); got != (i >= j) {
				t.Errorf("Reached(%s, %s): got %t, want %t", a, b, got, i >= j)
			}
		}
		if brewing.Reached(a, "Drunk") || brewing.Reached("Drunk", a) {
			t.Errorf("Reached(%s) of an unknown phase, or the reverse, is true", a)
		}
	}
	if brewing.Reached("Drunk", "Drunk") {
		t.Error("Reached of an unknown phase is true")
	}
}

// The Machine and Transitions agree on where each transition leads from each phase.
func TestMoves(t *testing.T) {
	want := map[Phase]map[string]Phase{
		ordered:   {"Mash": mashed},
		mashed:    {"Ferment": fermented, "Spilled": ordered},
		fermented: {"Taste": tasted, "Spilled": ordered, "Soured": mashed},
		tasted:    {"Bottle": bottled, "Spilled": ordered, "Soured": mashed},
		bottled:   {"Spilled": ordered, "Soured": mashed, "Broke": tasted},
	}
	fired, listed := map[Phase]map[string]Phase{}, map[Phase]map[string]Phase{}
	for from := range want {
		fired[from], listed[from] = map[string]Phase{}, map[string]Phase{}
	}
	for _, transition := range brewing.Transitions() {
		for _, from := range transition.From {
			listed[from][transition.Name] = transition.To
		}
		for from := range want {
			m, err := brewing.Restore(from)
			if err != nil {
				t.Fatal(err)
			}
			can := m.Can(transition.Name)
			if err := m.Fire(transition.Name); can != (err == nil) {
				t.Errorf("%s in %s: Can = %t, Fire = %v", transition.Name, from, can, err)
			}
			if can {
				fired[from][transition.Name] = m.Phase()
			} else if m.Phase() != from {
				t.Errorf("%s in %s fails, but moves to %s", transition.Name, from, m.Phase())
			}
		}
	}
	if diff := cmp.Diff(want, fired); diff != "" {
		t.Errorf("moves of the Machine (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("moves of Transitions (-want +got):\n%s", diff)
	}
}

func TestAdvance(t *testing.T) {
	m, err := brewing.Restore("")
	if err != nil {
		t.Fatal(err)
	}
	if m.Phase() != ordered {
		t.Errorf("an empty phase is restored as %s, want Ordered", m.Phase())
	}
	for _, want := range brewing.Phases() {
		if err := m.Advance(); err != nil || m.Phase() != want {
			t.Errorf("Advance: phase %s, %v; want %s", m.Phase(), err, want)
		}
	}
	if err := m.Advance(); err == nil || m.Phase() != bottled {
		t.Errorf("Advance after the last phase: phase %s, %v", m.Phase(), err)
	}
	if _, err := brewing.Restore("Drunk"); err == nil {
		t.Error("an unknown phase was restored")
	}
}

func TestDiagramNamesAllTransitions(t *testing.T) {
	diagram, err := brewing.Diagram()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(diagram, "stateDiagram-v2\n") || !strings.Contains(diagram, "[*] --> Ordered\n") {
		t.Errorf("not a Mermaid state diagram that starts at Ordered:\n%s", diagram)
	}
	for _, transition := range brewing.Transitions() {
		for _, from := range transition.From {
			if line := string(from) + " --> " + string(transition.To) + ": " + transition.Name + "\n"; !strings.Contains(diagram, line) {
				t.Errorf("the diagram lacks %q:\n%s", line, diagram)
			}
		}
	}
}
