package exporter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
)

// Limits of what the status lists of a preflight.
const (
	maxPreflightReasons  = 20
	maxPreflightExamples = 3
	maxPreflightMessage  = 512
)

// preflight summarizes the records of the pods; nil in mode Attach.
func (f *fleet) preflight() *v1alpha1.Preflight {
	if !f.preflighting() {
		return nil
	}
	sum := &v1alpha1.Preflight{Pending: int32(len(f.detaching))}
	reasons, transports := map[string]*v1alpha1.PreflightReason{}, map[v1alpha1.Transport]int32{}
	add := func(pod, reason, message string) {
		r := reasons[reason]
		if r == nil {
			r = &v1alpha1.PreflightReason{Reason: reason, Message: text.Cut(message, maxPreflightMessage)}
			reasons[reason] = r
		}
		if r.Count++; r.Count <= maxPreflightExamples {
			r.Pods = append(r.Pods, pod)
		}
	}
	attachable := 0
	for _, m := range f.members {
		f.measure(sum, m)
		if m.takesDoor(f.transport) {
			transports[v1alpha1.TransportEphemeralContainer]++
		}
		switch reason := m.preflightReason(); {
		case m.fit():
			attachable++
			transports[m.transport()]++
			if m.warns() {
				sum.LoadWarnings++
			}
			if m.warnsLater() {
				sum.UpgradeWarnings++
				if m.covered(f.exporter) {
					sum.CoveredAtNextStart++
				}
			}
		case reason == "":
			sum.Pending++
		default:
			add(m.pod.Name, reason, messageOf(m.attachment))
		}
	}
	for _, c := range f.claimed {
		add(c.pod, v1alpha1.ReasonPodClaimed, "The pod belongs to the exporter "+c.owner+".")
	}
	sum.Attachable = fmt.Sprintf("%d/%d", attachable, f.matched())
	for _, transport := range slices.Sorted(maps.Keys(transports)) {
		sum.Transports = append(sum.Transports, v1alpha1.TransportCount{Transport: transport, Count: transports[transport]})
	}
	sorted := slices.SortedFunc(maps.Values(reasons), func(a, b *v1alpha1.PreflightReason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	for i, r := range sorted {
		if i >= maxPreflightReasons {
			sum.ReasonsOmitted += r.Count
			continue
		}
		sum.Reasons = append(sum.Reasons, *r)
	}
	return sum
}

// measure adds the memory found in a member to the summary.
func (f *fleet) measure(sum *v1alpha1.Preflight, m member) {
	limited := false
	if m.attachment == nil || !slices.ContainsFunc(m.attachment.Status.Processes, func(p v1alpha1.JavaProcess) bool { return !p.Excluded }) {
		return
	}
	if sum.Memory == nil {
		sum.Memory = &v1alpha1.PreflightMemory{}
	}
	for _, p := range m.attachment.Status.Processes {
		if p.Excluded || p.FreeMemory == nil {
			continue
		}
		limited = true
		if least := sum.Memory.Minimum; least == nil || p.FreeMemory.Cmp(*least) < 0 {
			sum.Memory.Minimum, sum.Memory.Pod = new(p.FreeMemory.DeepCopy()), m.pod.Name
		}
	}
	if !limited {
		sum.Memory.Unlimited++
	}
}

// preflightConditions returns the conditions of an exporter in mode Preflight, except
// ConfigValid. A pod that cannot be attached to is reported, but does not stall the
// exporter.
func (f *fleet) preflightConditions(status *v1alpha1.PrometheusJmxExporterStatus) (ready, reconciling, stalled, complete metav1.Condition) {
	found := status.Preflight
	says := fmt.Sprintf("%s matched pods can be attached to.", found.Attachable)
	stalled = condition(v1alpha1.ConditionStalled, false, v1alpha1.ReasonReconciled, "Nothing is attached in mode Preflight; status.preflight lists the pods that cannot be attached to, and why.")
	switch {
	case status.Matched == 0:
		says = noPodsMatched
		complete = condition(v1alpha1.ConditionPreflightComplete, false, v1alpha1.ReasonNoPodsMatched, says)
		reconciling = condition(v1alpha1.ConditionReconciling, false, v1alpha1.ReasonReconciled, "Reconciled.")
	case found.Pending > 0:
		says = fmt.Sprintf("%d of %d matched pods are not inspected yet.", found.Pending, status.Matched)
		complete = condition(v1alpha1.ConditionPreflightComplete, false, v1alpha1.ReasonProgressing, says)
		reconciling = condition(v1alpha1.ConditionReconciling, true, v1alpha1.ReasonProgressing, says)
	default:
		complete = condition(v1alpha1.ConditionPreflightComplete, true, v1alpha1.ReasonPodsInspected, says)
		reconciling = condition(v1alpha1.ConditionReconciling, false, v1alpha1.ReasonReconciled, "Reconciled.")
	}
	says += " The exporter is in mode Preflight: nothing is attached or changed."
	if endpoints := len(status.MetricsEndpoints); endpoints > 0 {
		says += " Existing endpoints keep serving."
	}
	if p := f.inputs.Problem(); p != nil {
		says += " The configuration cannot be used: " + p.Message
	}
	ready = condition(v1alpha1.ConditionReady, false, v1alpha1.ReasonPreflight, says+" To attach, set spec.mode to Attach.")
	return ready, reconciling, stalled, complete
}

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
	if v1alpha1.Known(reason) && !v1alpha1.Passing(reason) || v1alpha1.AwaitsPod(reason) {
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
			if c.Name == p.Container {
				return cmp.Or(c.Transport, v1alpha1.TransportExec)
			}
		}
	}
	return v1alpha1.TransportExec
}

// unreachable are the reasons for which nothing is executed in a pod by any transport.
var unreachable = []string{v1alpha1.ReasonTransportForbidden, v1alpha1.ReasonPodProtected, v1alpha1.ReasonNotAuthorized, v1alpha1.ReasonProcessRulesInvalid, v1alpha1.ReasonUnsupportedOS}

// takesDoor reports whether the pod is reached through an ephemeral container in mode
// Attach.
func (m member) takesDoor(transport v1alpha1.Transport) bool {
	if m.attachment == nil || m.fit() || slices.Contains(unreachable, m.attachment.Status.Reason) {
		return false
	}
	return transport == v1alpha1.TransportEphemeralContainer ||
		transport == v1alpha1.TransportAuto && slices.ContainsFunc(m.attachment.Status.Containers, func(c v1alpha1.InspectedContainer) bool {
			return steps.ExecCannot(c.Reason)
		})
}
