package exporter

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
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
	ready := podReady(pod)
	return endpoint{
		group: group{family: family, port: answered.Port, tls: answered.TLS},
		Endpoint: discoveryv1.Endpoint{
			Addresses:  []string{answered.Address},
			Conditions: discoveryv1.EndpointConditions{Ready: new(ready), Serving: new(ready), Terminating: new(false)},
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

func (e endpoint) key() string {
	uid := ""
	if e.TargetRef != nil {
		uid = string(e.TargetRef.UID)
	}
	return fmt.Sprintf("%s/%d/%t/%s/%v", e.family, e.port, e.tls, uid, e.Addresses)
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
