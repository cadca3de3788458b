package exporter

import (
	"cmp"
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// maxEndpoints is the maximum number of endpoints per slice, as in Kubernetes.
const maxEndpoints = 100

// slice is a planned EndpointSlice; one without endpoints is to be deleted.
type slice struct {
	group
	name      string
	endpoints []discoveryv1.Endpoint
	// changed reports whether the slice has to be written.
	changed bool
}

// planSlices distributes the wanted endpoints over slices: existing ones stay in their slice,
// so that a change of one pod changes one slice; new ones fill the gaps. The plan
// contains every existing slice, even if it has no endpoints left.
func planSlices(service string, existing []discoveryv1.EndpointSlice, wanted []endpoint) []slice {
	left := map[string]endpoint{}
	for _, e := range wanted {
		left[e.key()] = e
	}
	var planned []slice
	for _, was := range existing {
		s := slice{group: groupOf(was), name: was.Name}
		for _, e := range was.Endpoints {
			k := endpoint{group: s.group, Endpoint: e}.key()
			if stays, ok := left[k]; ok && len(s.endpoints) < maxEndpoints {
				s.endpoints = append(s.endpoints, stays.Endpoint)
				delete(left, k)
			}
		}
		planned = append(planned, s)
	}
	slices.SortFunc(planned, func(a, b slice) int { return cmp.Compare(a.name, b.name) })
	for _, e := range wanted {
		if _, ok := left[e.key()]; !ok {
			continue
		}
		i := slices.IndexFunc(planned, func(s slice) bool { return s.group == e.group && len(s.endpoints) < maxEndpoints })
		if i < 0 {
			planned = append(planned, slice{group: e.group, name: freeName(service, e.group, planned)})
			i = len(planned) - 1
		}
		planned[i].endpoints = append(planned[i].endpoints, e.Endpoint)
		delete(left, e.key())
	}
	for i := range planned {
		s := &planned[i]
		slices.SortFunc(s.endpoints, func(a, b discoveryv1.Endpoint) int { return cmp.Compare(a.TargetRef.Name, b.TargetRef.Name) })
		s.changed = !same(existing, *s)
	}
	return planned
}

func freeName(service string, g group, taken []slice) string {
	family := "ipv4"
	if g.family == discoveryv1.AddressTypeIPv6 {
		family = "ipv6"
	}
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d-%s-%d", service, g.port, family, n)
		if !slices.ContainsFunc(taken, func(s slice) bool { return s.name == name }) {
			return name
		}
	}
}

const portName = "metrics"

func find(existing []discoveryv1.EndpointSlice, name string) *discoveryv1.EndpointSlice {
	for i := range existing {
		if existing[i].Name == name {
			return &existing[i]
		}
	}
	return nil
}

// same reports whether the slice exists as planned.
func same(existing []discoveryv1.EndpointSlice, s slice) bool {
	was := find(existing, s.name)
	return was != nil && groupOf(*was) == s.group && len(was.Ports) == 1 && was.Ports[0].Name != nil && *was.Ports[0].Name == portName &&
		equality.Semantic.DeepEqual(was.Endpoints, s.endpoints)
}
