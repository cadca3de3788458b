package exporter

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// group has the properties that all endpoints of a slice share.
type group struct {
	family discoveryv1.AddressType
	port   int32
	tls    bool
}

// endpoint is an endpoint to publish.
type endpoint struct {
	group
	discoveryv1.Endpoint
}

// endpointsOf returns the member's endpoints that have answered, one per JVM.
func endpointsOf(m member) []endpoint {
	if m.attachment == nil {
		return nil
	}
	var endpoints []endpoint
	for _, p := range m.attachment.Status.Processes {
		if e, ok := endpointOf(m.pod, p.Endpoint); ok {
			endpoints = append(endpoints, e)
		}
	}
	return endpoints
}

func endpointOf(pod *corev1.Pod, answered *v1alpha1.Endpoint) (endpoint, bool) {
	if answered == nil || answered.Address != pod.Status.PodIP {
		return endpoint{}, false
	}
	address, err := netip.ParseAddr(answered.Address)
	if err != nil {
		return endpoint{}, false
	}
	family := discoveryv1.AddressTypeIPv4
	if address.Is6() {
		family = discoveryv1.AddressTypeIPv6
	}
	serving, terminating := podReady(pod), !pod.DeletionTimestamp.IsZero()
	return endpoint{
		group: group{family: family, port: answered.Port, tls: answered.TLS},
		Endpoint: discoveryv1.Endpoint{
			Addresses:  []string{answered.Address},
			Conditions: discoveryv1.EndpointConditions{Ready: new(serving && !terminating), Serving: new(serving), Terminating: new(terminating)},
			NodeName:   new(pod.Spec.NodeName),
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		},
	}, true
}

// alreadyPublished returns the pod's endpoints that are already published.
func alreadyPublished(existing []discoveryv1.EndpointSlice, pod *corev1.Pod) []endpoint {
	var endpoints []endpoint
	for _, s := range existing {
		for _, e := range s.Endpoints {
			if e.TargetRef == nil || e.TargetRef.UID != pod.UID || len(s.Ports) != 1 || s.Ports[0].Port == nil {
				continue
			}
			if stays, ok := endpointOf(pod, &v1alpha1.Endpoint{Address: e.Addresses[0], Port: *s.Ports[0].Port, TLS: groupOf(s).tls}); ok {
				endpoints = append(endpoints, stays)
			}
		}
	}
	return endpoints
}

// endpointKey identifies an endpoint.
type endpointKey struct {
	group
	pod       types.UID
	addresses string
}

func (e endpoint) key() endpointKey {
	k := endpointKey{group: e.group, addresses: strings.Join(e.Addresses, " ")} // of one, that is the address itself
	if e.TargetRef != nil {
		k.pod = e.TargetRef.UID
	}
	return k
}

func groupOf(s discoveryv1.EndpointSlice) group {
	g := group{family: s.AddressType}
	if len(s.Ports) == 1 && s.Ports[0].Port != nil {
		g.port, g.tls = *s.Ports[0].Port, ptr.Deref(s.Ports[0].AppProtocol, "") == steps.SchemeTLS
	}
	return g
}

func podReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

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
	left := make(map[endpointKey]endpoint, len(wanted))
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

const portName = selection.PortName

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
