package exporter

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

func wanted(port int32, pods ...string) []endpoint {
	var all []endpoint
	for _, pod := range pods {
		family := discoveryv1.AddressTypeIPv4
		if strings.HasPrefix(pod, "six") {
			family = discoveryv1.AddressTypeIPv6
		}
		all = append(all, endpoint{group{family: family, port: port}, discoveryv1.Endpoint{
			Addresses: []string{"of " + pod},
			TargetRef: &corev1.ObjectReference{Name: pod, UID: types.UID(pod)},
		}})
	}
	return all
}

// there returns the slices that result from a plan.
func there(planned []slice) []discoveryv1.EndpointSlice {
	var existing []discoveryv1.EndpointSlice
	for _, s := range planned {
		if len(s.endpoints) == 0 {
			continue
		}
		e := discoveryv1.EndpointSlice{AddressType: s.family, Endpoints: s.endpoints}
		e.Name = s.name
		e.Ports = []discoveryv1.EndpointPort{{Name: new(portName), Port: new(s.port)}}
		existing = append(existing, e)
	}
	return existing
}

// lines describes each slice: its name, its pods, and whether it changes.
func lines(planned []slice) []string {
	var all []string
	for _, s := range planned {
		line := s.name + ":"
		for _, e := range s.endpoints {
			line += " " + e.TargetRef.Name
		}
		if s.changed {
			line += " (changed)"
		}
		all = append(all, line)
	}
	return all
}

func TestPlan(t *testing.T) {
	stray := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}}
	stray.Name = "stray"
	cases := map[string]struct {
		existing []discoveryv1.EndpointSlice
		wanted   []endpoint
		want     []string
	}{
		"there are no endpoints": {},
		"the first endpoints are added": {
			wanted: wanted(1, "a", "b"),
			want:   []string{"s-1-ipv4-1: a b (changed)"},
		},
		"nothing changes": {
			existing: there(planSlices("s", nil, wanted(1, "a", "b"))),
			wanted:   wanted(1, "b", "a"),
			want:     []string{"s-1-ipv4-1: a b"},
		},
		"one endpoint is removed, another added": {
			existing: there(planSlices("s", nil, wanted(1, "a", "b"))),
			wanted:   wanted(1, "a", "c"),
			want:     []string{"s-1-ipv4-1: a c (changed)"},
		},
		"the last endpoint is removed": {
			existing: there(planSlices("s", nil, wanted(1, "a"))),
			want:     []string{"s-1-ipv4-1: (changed)"},
		},
		"the port changes": {
			existing: there(planSlices("s", nil, wanted(1, "a"))),
			wanted:   wanted(2, "a"),
			want:     []string{"s-1-ipv4-1: (changed)", "s-2-ipv4-1: a (changed)"},
		},
		"the port changes in one of two pods": {
			existing: there(planSlices("s", nil, wanted(1, "a", "b"))),
			wanted:   append(wanted(1, "a"), wanted(2, "b")...),
			want:     []string{"s-1-ipv4-1: a (changed)", "s-2-ipv4-1: b (changed)"},
		},
		"the endpoints are of both families": {
			wanted: wanted(1, "a", "six"),
			want:   []string{"s-1-ipv4-1: a (changed)", "s-1-ipv6-1: six (changed)"},
		},
		"a user edited the slice": {
			existing: []discoveryv1.EndpointSlice{stray},
			wanted:   wanted(1, "a"),
			want:     []string{"stray: (changed)", "s-1-ipv4-1: a (changed)"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(planSlices("s", tc.existing, tc.wanted))); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
		})
	}
}

// Endpoints stay in their slice, and adding or removing one changes one slice.
func TestPlanOfMany(t *testing.T) {
	var pods []string
	for i := range 250 {
		pods = append(pods, fmt.Sprintf("pod-%03d", i))
	}
	changed := func(planned []slice) (n int) {
		for _, s := range planned {
			if s.changed {
				n++
			}
			if len(s.endpoints) > maxEndpoints {
				t.Errorf("slice %s has %d endpoints, more than maxEndpoints", s.name, len(s.endpoints))
			}
		}
		return n
	}
	planned := planSlices("s", nil, wanted(1, pods...))
	if len(planned) != 3 {
		t.Errorf("slices: got %d, want 3", len(planned))
	}
	for _, change := range [][]string{
		pods,
		slices.Delete(slices.Clone(pods), 100, 101),
		append([]string{"pod-new"}, slices.Delete(slices.Clone(pods), 100, 101)...),
	} {
		most := 1
		if slices.Equal(change, pods) {
			most = 0
		}
		planned = planSlices("s", there(planned), wanted(1, change...))
		if n := changed(planned); n != most {
			t.Errorf("change of %d pods: got %d changed slices, want %d", len(change), n, most)
		}
	}
}
