package transport

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Probes of silent endpoints take no places from sessions or from probes in other
// namespaces. A pod that found no place is woken when there is one.
func TestProbePlaces(t *testing.T) {
	l := NewLimits(4, 2, 2)
	var woken []string
	l.OnRoom(func(_, pod string) bool { woken = append(woken, pod); return true })
	in := func(namespace, pod string) Container { return Container{Namespace: namespace, Pod: pod, Node: "1"} }
	silent, err := l.Probe(in("a", "silent"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Probe(in("a", "other")); !errors.Is(err, errQueued) {
		t.Errorf("another probe of the namespace on the node comes to %v", err)
	}
	beside, err := l.Probe(in("b", "good"))
	if err != nil {
		t.Fatalf("a probe in another namespace: %v", err)
	}
	session, err := l.acquire(in("a", "third"))
	if err != nil {
		t.Fatalf("a session in the namespace: %v", err)
	}
	for _, end := range []func(){session.release, beside, silent, silent} { // the repeated call has no effect
		end()
	}
	if diff := cmp.Diff([]string{"other"}, woken); diff != "" {
		t.Errorf("woken are (-want +got):\n%s", diff)
	}
	kept, err := l.Probe(in("a", "other"))
	if err != nil {
		t.Fatalf("the probe that was woken: %v", err)
	}
	kept()
	wantFree(t, l)
}

// The number of sessions is limited in all, per node and per namespace. An attempt that
// finds no place fails at once, and leaves nothing behind.
func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		limits *Limits
		acts   string // node/namespace acquires a place, with a minus releases it
		want   []string
	}{
		"in all":           {NewLimits(2, 9, 9), "1/a 2/b 3/c -1/a 3/c 1/a", []string{"1/a true", "2/b true", "3/c false", "3/c true", "1/a false"}},
		"on a node":        {NewLimits(9, 1, 9), "1/a 1/b 2/a -1/a 1/b", []string{"1/a true", "1/b false", "2/a true", "1/b true"}},
		"in a namespace":   {NewLimits(9, 9, 1), "1/a 2/a 1/b -1/a 2/a", []string{"1/a true", "2/a false", "1/b true", "2/a true"}},
		"refused by a sum": {NewLimits(1, 1, 1), "1/a 2/b -1/a 2/b", []string{"1/a true", "2/b false", "2/b true"}},
	} {
		t.Run(name, func(t *testing.T) {
			releases := map[string]func(){}
			var got []string
			for act := range strings.FieldsSeq(tc.acts) {
				if earlier, released := strings.CutPrefix(act, "-"); released {
					releases[earlier]()
					releases[earlier]() // the repeated call has no effect
					delete(releases, earlier)
					continue
				}
				node, namespace, _ := strings.Cut(act, "/")
				place, err := tc.limits.acquire(Container{Node: node, Namespace: namespace})
				if err == nil {
					releases[act] = place.release
				}
				got = append(got, fmt.Sprintf("%s %t", act, err == nil))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, release := range releases {
				release()
			}
			wantFree(t, tc.limits)
		})
	}
}
