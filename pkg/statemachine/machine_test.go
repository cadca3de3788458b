package statemachine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table of docs/design: where each event leads from each phase.
func TestFire(t *testing.T) {
	type moves map[Event]Phase
	cases := map[Phase]moves{
		Pending:    {Discover: Discovered},
		Discovered: {FindJava: JavaFound},
		JavaFound:  {Stage: Staged, Replaced: Discovered},
		Staged:     {Load: Loaded, Replaced: Discovered, ConfigChanged: JavaFound},
		Loaded:     {Expose: Exposed, Replaced: Discovered, ConfigChanged: JavaFound, AgentChanged: Staged},
		Exposed:    {Annotate: Annotated, Replaced: Discovered, ConfigChanged: JavaFound, AgentChanged: Staged, EndpointLost: Loaded},
		Annotated:  {Replaced: Discovered, ConfigChanged: JavaFound, AgentChanged: Staged, EndpointLost: Loaded, AnnotationLost: Exposed},
	}
	all := []Event{Discover, FindJava, Stage, Load, Expose, Annotate, Replaced, ConfigChanged, AgentChanged, EndpointLost, AnnotationLost}
	for from, want := range cases {
		got := moves{}
		for _, e := range all {
			m, err := Restore(from)
			if err != nil {
				t.Fatal(err)
			}
			can := m.Can(e)
			err = m.Fire(e)
			if can != (err == nil) {
				t.Errorf("%s in %s: Can = %t, Fire = %v", e, from, can, err)
			}
			if err == nil {
				got[e] = m.Phase()
			} else if m.Phase() != from {
				t.Errorf("%s in %s: refused, but moved to %s", e, from, m.Phase())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("moves from %s (-want +got):\n%s", from, diff)
		}
	}
}

func TestForwardWalk(t *testing.T) {
	m, err := Restore("")
	if err != nil {
		t.Fatal(err)
	}
	var walked []Phase
	for next, ok := m.Phase().Next(); ok; next, ok = m.Phase().Next() {
		if err := m.Fire(Forward(next)); err != nil {
			t.Fatal(err)
		}
		walked = append(walked, m.Phase())
	}
	if diff := cmp.Diff(order[1:], walked); diff != "" {
		t.Errorf("walk (-want +got):\n%s", diff)
	}
}

func TestRestoreRefusesUnknown(t *testing.T) {
	if _, err := Restore("Verified"); err == nil {
		t.Error("a phase that does not exist was restored")
	}
}
