package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// No more sessions than allowed are under way, in all, on one node and in one
// namespace: an open that finds no place fails at once, and leaves nothing behind.
func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		limits *Limits
		acts   string // node/namespace; released with a minus
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
					releases[earlier]() // once is enough
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
