package transport

import (
	"strings"
	"testing"

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
		"in order of arrival":         {NewLimits(1, 9, 9), "p/1/a q/1/a r/1/a -p/1/a q/1/a -q/1/a", "q r"},
		"nobody waits":                {NewLimits(1, 9, 9), "p/1/a -p/1/a", ""},
		"no more than there's room":   {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a r/1/a s/1/a -p/1/a", "q"},
		"as many as there's room":     {NewLimits(2, 9, 9), "o/1/a p/1/a q/1/a r/1/a s/1/a -p/1/a -o/1/a", "q r s"},
		"once":                        {NewLimits(1, 9, 9), "p/1/a q/1/a q/1/a -p/1/a", "q"},
		"not who came by itself":      {NewLimits(1, 9, 9), "p/1/a q/1/a r/1/a -p/1/a r/1/a -r/1/a", "q"},
		"again, when it was too late": {NewLimits(1, 9, 9), "p/1/a q/1/a -p/1/a r/1/a q/1/a -r/1/a", "q q"},
		"of the node that has room":   {NewLimits(9, 1, 9), "o/1/a p/2/a q/1/a r/2/a -p/2/a", "r"},
		"of the namespace":            {NewLimits(9, 9, 1), "o/1/a p/1/b q/1/a r/1/b -p/1/b", "r"},
		"of a container beside":       {NewLimits(9, 1, 9), "p/1/a p/1/a -p/1/a", "p"},
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
		tc.limits.OnRoom(nil)
		tc.limits.waiting = nil
		for _, release := range releases {
			release()
		}
		wantFree(t, tc.limits)
	}
}
