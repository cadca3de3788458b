package exporter

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// fleet is what a reconcile of an exporter has read. Nothing in it changes afterwards, and
// listed objects belong to the cache: copying a fleet would be most of the cost of a
// reconcile.
type fleet struct {
	exporter *v1alpha1.PrometheusJmxExporter
	inputs   steps.Inputs
	// transport is the transport to the pods; Auto if each container decides.
	transport v1alpha1.Transport
	rollout   rollout
	// members are the matched pods that belong to the exporter, by name.
	members []member
	// claimed are the matched pods that belong to another exporter, by name.
	claimed []claim
	// detaching are pods, by name, that are being detached from another exporter before
	// this one, which is in mode Preflight, inspects them.
	detaching []string
	// draining are the exporter's pods that are terminating and still run, by name. Only their
	// endpoints count.
	draining []member
	// slices are the EndpointSlices that the exporter controls.
	slices []discoveryv1.EndpointSlice
	// service is the Service of the exporter's name, whoever it belongs to; nil if there
	// is none, or if none is needed.
	service *corev1.Service
	// kept are the names of the ControllerRevisions that there may be for the exporter; true
	// for those that are known to be there.
	kept map[string]bool
	// granted are the revisions that the exporter's records have.
	granted sets.Set[string]
	// unread is the error that prevented reading the slices or the Service. It is reported
	// in the status, and does not stop other work.
	unread error
	// recordsBehind and endpointsBehind report whether the cache lacks a record, or the
	// Service or a slice, that was written: none is written then.
	recordsBehind, endpointsBehind bool
}

type claim struct{ pod, owner string }

// preflighting reports whether the exporter only inspects its pods.
func (f *fleet) preflighting() bool { return f.exporter.Spec.Mode == v1alpha1.ModePreflight }

// certificateNotAfter returns the end of validity of the endpoints' certificate; nil without
// one. A Secret that cannot be used leaves the certificate that is served.
func (f *fleet) certificateNotAfter() *metav1.Time {
	switch {
	case f.exporter.Spec.EndpointSecurity == nil:
		return nil
	case f.inputs.Security.CertificateNotAfter.IsZero():
		return f.exporter.Status.CertificateNotAfter
	}
	return &metav1.Time{Time: f.inputs.Security.CertificateNotAfter}
}

// noPodsMatched is the message of ReasonNoPodsMatched. An exporter without pods is Ready: it
// may be applied before its pods, and whoever waits for it (helm --wait, Flux, Argo CD) would
// wait for them.
const noPodsMatched = "No running pod in the namespace matches the exporter's selector."

// matched returns the number of pods that the exporter selects.
func (f *fleet) matched() int { return len(f.members) + len(f.claimed) + len(f.detaching) }

// endpoints returns all endpoints that answered last, in pods that belong to the exporter
// or did so until they were deleted.
func (f *fleet) endpoints() []endpoint {
	var wanted []endpoint
	for _, m := range f.draining {
		wanted = append(wanted, endpointsOf(m.stillRunning())...)
	}
	for _, m := range f.members {
		wanted = append(wanted, endpointsOf(m)...)
		wanted = append(wanted, f.unknownEndpoints(m)...)
	}
	return wanted
}

// unknownEndpoints returns the published endpoints of a member that its record does not know,
// because it replaces one that was lost: all, as long as the pod was not inspected, and then
// those that may be in containers that the operator no longer inspects.
func (f *fleet) unknownEndpoints(m member) []endpoint {
	if m.attachment == nil || !record.EndpointsKnown(&m.attachment.Status) {
		return alreadyPublished(f.slices, m.pod)
	}
	unseen := record.UnseenPorts(&m.attachment.Status)
	if len(unseen) == 0 {
		return nil
	}
	return slices.DeleteFunc(alreadyPublished(f.slices, m.pod), func(e endpoint) bool { return !slices.Contains(unseen, e.port) })
}

// publishes reports whether the exporter needs a Service: in mode Preflight only if
// endpoints exist.
func (f *fleet) publishes() bool {
	return !f.preflighting() || len(f.slices) > 0 || len(f.endpoints()) > 0
}

// phase returns the phase of the least advanced member, refused ones aside.
func (f *fleet) phase() v1alpha1.Phase {
	if len(f.members)+len(f.claimed) == 0 || len(f.detaching) > 0 {
		return v1alpha1.PhasePending
	}
	for _, p := range append([]v1alpha1.Phase{v1alpha1.PhasePending}, v1alpha1.Phases()...) {
		for _, m := range f.members {
			if !m.refused() && m.phase() == p {
				return p
			}
		}
	}
	return v1alpha1.PhaseRefused
}

func (f *fleet) count(phase v1alpha1.Phase) int32 {
	var n int32
	if phase == v1alpha1.PhasePending {
		n = int32(len(f.detaching))
	}
	for _, m := range f.members {
		if m.phase() == phase {
			n++
		}
	}
	return n
}

func (f *fleet) phases() []v1alpha1.PhaseCount {
	var counts []v1alpha1.PhaseCount
	for _, p := range append([]v1alpha1.Phase{v1alpha1.PhasePending}, v1alpha1.Phases()...) {
		if n := f.count(p); n > 0 {
			counts = append(counts, v1alpha1.PhaseCount{Phase: p, Count: n})
		}
	}
	return counts
}

// releasing counts the pods in which an excluded JVM may still have the agent.
func (f *fleet) releasing() int {
	n := 0
	for _, m := range f.members {
		if m.releasing() {
			n++
		}
	}
	return n
}

// refusals lists the refused pods with their reasons, by pod name.
func (f *fleet) refusals() []string {
	var refusals []string
	for _, m := range f.members {
		if m.refused() {
			refusals = append(refusals, fmt.Sprintf("%s: %s", m.pod.Name, m.attachment.Status.Reason))
		}
	}
	for _, c := range f.claimed {
		refusals = append(refusals, fmt.Sprintf("%s: %s by the older exporter %s", c.pod, v1alpha1.ReasonPodClaimed, c.owner))
	}
	return refusals
}

func condition(kind string, holds bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	return c
}
