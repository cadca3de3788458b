package transport

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// A session whose container does not respond gives up its place and counts as waiting.
// Each row lists the sessions that were opened, and those that were queued.
func TestPlaces(t *testing.T) {
	for name, tc := range map[string]struct {
		limits *Limits
		// pod@node/namespace opens a session; ?pod is late, !pod responds, -pod ends, and
		// xpod ends without a response.
		acts string
		want string
	}{
		"a late one gives its place to others":        {NewLimits(1, 1, 1), "a@1/a b@2/b ?a b@2/b", "a b:Queued b"},
		"to others on its node":                       {NewLimits(9, 1, 9), "a@1/a b@1/b ?a b@1/b", "a b:Queued b"},
		"as many wait as twice the places":            {NewLimits(1, 1, 1), "a@1/a ?a b@1/a ?b c@1/a -a c@1/a", "a b c:Queued c"},
		"one that ended is late no more":              {NewLimits(1, 1, 1), "a@1/a -a ?a b@1/a", "a b"},
		"one that responded in time keeps its place":  {NewLimits(1, 1, 1), "a@1/a !a ?a b@1/a", "a b:Queued"},
		"one that responds late counts again":         {NewLimits(1, 1, 1), "a@1/a ?a !a b@1/a -a b@1/a", "a b:Queued b"},
		"both work then":                              {NewLimits(1, 1, 1), "a@1/a ?a b@1/a !b !a -b c@1/a -a c@1/a", "a b c:Queued c"},
		"what did not respond needs no place":         {NewLimits(1, 1, 1), "a@1/a xa b@1/a !b a@1/a", "a b a"},
		"nor keeps one":                               {NewLimits(1, 1, 1), "a@1/a xa a@1/a b@1/a", "a a b"},
		"what responded is not queued behind those":   {NewLimits(1, 1, 1), "z@1/a !z -z a@1/a ?a b@1/a ?b c@1/a z@1/a", "z a b c:Queued z"},
		"half of the places are tried again at once":  {NewLimits(2, 2, 2), "a@1/a xa b@1/a xb a@1/a b@1/a -a b@1/a", "a b a b:Queued b"},
		"what responds after that needs a place":      {NewLimits(1, 1, 1), "a@1/a xa a@1/a !a b@1/a -a a@1/a b@1/a", "a a b:Queued a b:Queued"},
		"no more in all than three times the places":  {NewLimits(1, 1, 1), "c@1/a xc d@1/a xd a@1/a ?a b@1/a ?b !a !b c@1/a !c d@1/a", "c d a b c d:Queued"},
		"a node's late ones leave a share to another": {NewLimits(4, 1, 4), "a@1/a ?a b@1/a ?b c@1/a c@2/a", "a b c:Queued c"},
		"a namespace leaves room on a node":           {NewLimits(4, 2, 2), "a@1/a b@1/a b@1/b", "a b:Queued b"},
		"and so do its late ones":                     {NewLimits(4, 2, 2), "a@1/a ?a b@1/a ?b c@1/a c@1/b", "a b c:Queued c"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				places := map[string]*place{}
				var got []string
				for act := range strings.FieldsSeq(tc.acts) {
					switch p := places[act[1:]]; act[0] {
					case '?':
						p.stallAfter(time.Second)
						time.Sleep(time.Second)
						synctest.Wait()
					case '!':
						p.respond()
						tc.limits.note(p.in, true)
					case '-', 'x':
						p.release()
						p.release() // the repeated call has no effect
						if act[0] == 'x' {
							tc.limits.note(p.in, false)
						}
					default:
						pod, share, _ := strings.Cut(act, "@")
						node, namespace, _ := strings.Cut(share, "/")
						p, err := tc.limits.acquire(Container{PodUID: types.UID(pod), Node: node, Namespace: namespace})
						if err != nil {
							pod = fmt.Sprintf("%s:%s", pod, errQueued.Reason)
						} else {
							places[pod] = p
						}
						got = append(got, pod)
					}
				}
				if diff := cmp.Diff(strings.Fields(tc.want), got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				for _, p := range places {
					p.release()
				}
				wantFree(t, tc.limits)
			})
		})
	}
}
