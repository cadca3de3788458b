package transport

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// Pods that found no place are woken when there is one: in order of arrival, and no more
// than there is room for on the node, in the namespace and in all.
func TestOnRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		limits *Limits
		acts   string // pod/node/namespace acquires a place, with a minus releases it
		want   string
	}{
		"in order of arrival":       {NewLimits(1, 9, 9), "p/1/a q/1/a r/1/a -p/1/a q/1/a -q/1/a", "q r"},
		"nobody waits":              {NewLimits(1, 9, 9), "p/1/a -p/1/a", ""},
		"no more than there's room": {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a r/1/a s/1/a -p/1/a", "q"},
		"as many as there's room":   {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a r/1/a s/1/a -p/1/a -o/1/a", "q r"},
		"once":                      {NewLimits(1, 9, 9), "p/1/a q/1/a q/1/a -p/1/a", "q"},
		"its place is kept for it":  {NewLimits(1, 9, 9), "p/1/a q/1/a -p/1/a r/1/a q/1/a -q/1/a", "q r"},
		"another's place is not":    {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a -p/1/a r/1/a -o/1/a", "q r"},
		"of the node that has room": {NewLimits(9, 1, 9), "o/1/a p/2/a q/1/a r/2/a -p/2/a", "r"},
		"of the namespace":          {NewLimits(9, 9, 1), "o/1/a p/1/b q/1/a r/1/b -p/1/b", "r"},
		"of a container beside":     {NewLimits(9, 1, 9), "p/1/a p/1/a -p/1/a", "p"},
	} {
		var woken []string
		tc.limits.OnRoom(func(_, pod string) { woken = append(woken, pod) })
		releases := map[string]func(){}
		for act := range strings.FieldsSeq(tc.acts) {
			if place, released := strings.CutPrefix(act, "-"); released {
				releases[place]()
				delete(releases, place)
				continue
			}
			part := strings.Split(act, "/")
			if p, err := tc.limits.acquire(Container{PodUID: types.UID(act), Pod: part[0], Node: part[1], Namespace: part[2]}); err == nil {
				p.respond()
				releases[act] = p.release
			}
		}
		if diff := cmp.Diff(tc.want, strings.Join(woken, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for id, kept := range tc.limits.reserved {
			tc.limits.drop(id, kept)
		}
		tc.limits.queue = queue{}
		for _, release := range releases {
			release()
		}
		wantFree(t, tc.limits)
	}
}

// A place that was kept for a pod that does not come is given to the next one.
func TestReservationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimits(1, 1, 1)
		woken := map[string]time.Time{}
		l.OnRoom(func(_, pod string) { woken[pod] = time.Now() })
		in := func(pod string) Container {
			return Container{Namespace: "a", Node: "1", Pod: pod, PodUID: types.UID(pod)}
		}
		first, err := l.acquire(in("first"))
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range []string{"absent", "next"} {
			if _, err := l.acquire(in(pod)); !errors.Is(err, errQueued) {
				t.Fatalf("%s: %v", pod, err)
			}
		}
		first.release()
		time.Sleep(time.Hour)
		synctest.Wait()
		if after := woken["next"].Sub(woken["absent"]); after != reservation {
			t.Errorf("the next pod was woken %s after the one that did not come, want %s", after, reservation)
		}
		wantFree(t, l)
	})
}
