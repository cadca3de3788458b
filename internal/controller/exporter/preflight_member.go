package exporter

import (
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// fit reports whether a JVM of the pod can be attached to, or already is.
func (m member) fit() bool {
	return m.attachment != nil && slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool {
		return !p.Excluded && steps.Plan.Reached(statemachine.Phase(p.Phase), steps.JavaFound) &&
			(p.Reason == v1alpha1.ReasonPreflight || record.MayHaveAgent(&p) || p.Adopted && p.Endpoint != nil)
	})
}

// preflightReason returns why a member is not attachable; empty while unknown.
func (m member) preflightReason() string {
	if m.attachment == nil {
		return ""
	}
	reason := m.attachment.Status.Reason
	if v1alpha1.Known(reason) && !v1alpha1.Passing(reason) || slices.Contains(awaitsPod, reason) {
		return reason
	}
	if reason == v1alpha1.ReasonPreflight && !m.fit() { // only an ephemeral container could tell
		return reason
	}
	return ""
}

// warns reports whether a load into a JVM of the pod writes warning lines.
func (m member) warns() bool {
	return slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool {
		return p.LoadWarns && p.Reason == v1alpha1.ReasonPreflight && !p.Adopted
	})
}

// transport returns the transport by which the pod's JVMs were found.
func (m member) transport() v1alpha1.Transport {
	for _, p := range m.attachment.Status.Processes {
		for _, c := range m.attachment.Status.Containers {
			if c.Name == p.Container && c.Transport == v1alpha1.TransportEphemeralContainer {
				return c.Transport
			}
		}
	}
	return v1alpha1.TransportExec
}

// unreachable are the reasons for which nothing is executed in a pod by any transport.
var unreachable = []string{v1alpha1.ReasonTransportForbidden, v1alpha1.ReasonPodProtected, v1alpha1.ReasonNotAuthorized, v1alpha1.ReasonUnsupportedOS}

// takesDoor reports whether the pod is reached through an ephemeral container in mode
// Attach.
func (m member) takesDoor(transport v1alpha1.Transport) bool {
	if m.attachment == nil || m.fit() || slices.Contains(unreachable, m.attachment.Status.Reason) {
		return false
	}
	return transport == v1alpha1.TransportEphemeralContainer ||
		transport != v1alpha1.TransportExec && slices.ContainsFunc(m.attachment.Status.Containers, func(c v1alpha1.InspectedContainer) bool {
			return steps.ExecCannot(c.Reason)
		})
}
