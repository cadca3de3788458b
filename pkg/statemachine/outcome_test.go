package statemachine

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKinds(t *testing.T) {
	statuses := map[Kind]string{}
	for kind := Kind(0); kind <= Queued; kind++ {
		statuses[kind] = string(kind.Status())
		if want := kind == Awaiting || kind == Broken; kind.AwaitsEvent() != want {
			t.Errorf("AwaitsEvent of kind %d: got %t, want %t", kind, !want, want)
		}
	}
	want := map[Kind]string{Done: "True", Failed: "False", Broken: "False", Refused: "False"}
	for _, kind := range []Kind{0, Pending, Awaiting, Queued} {
		want[kind] = "Unknown"
	}
	if !maps.Equal(want, statuses) {
		t.Errorf("statuses (-want +got):\n%s", cmp.Diff(want, statuses))
	}
}
