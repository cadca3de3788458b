package exporter

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// preflightMember returns a pod whose JVM, and record, have a reason.
func preflightMember(name string, phase v1alpha1.Phase, reason string) member {
	m := member{pod: &corev1.Pod{}, attachment: &v1alpha1.JmxAttachment{}}
	m.pod.Name = name
	m.attachment.Status.Phase, m.attachment.Status.Reason = phase, reason
	m.attachment.Status.Processes = []v1alpha1.JavaProcess{{Container: "app", Phase: phase, Reason: reason}}
	return m
}

// Each matched pod is counted once: as attachable, as pending, or with its reason.
func TestPreflightSums(t *testing.T) {
	f := &fleet{exporter: &v1alpha1.PrometheusJmxExporter{}, claimed: []claim{{"z-0", "other"}}, detaching: []string{"y-0"}}
	if got := f.preflight(); got != nil {
		t.Errorf("report in mode Attach: got %+v, want none", got)
	}
	f.exporter.Spec.Mode = v1alpha1.ModePreflight
	add := func(n int, phase v1alpha1.Phase, reason string) {
		for i := range n {
			f.members = append(f.members, preflightMember(fmt.Sprintf("%s-%d", reason, i), phase, reason))
		}
	}
	add(2, v1alpha1.PhaseJavaFound, v1alpha1.ReasonPreflight)
	add(1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonInsufficientMemory)
	add(4, v1alpha1.PhaseDiscovered, v1alpha1.ReasonAttachDisabled)
	add(1, v1alpha1.PhaseDiscovered, v1alpha1.ReasonContainerNotRunning)
	// Not known yet.
	add(1, v1alpha1.PhaseDiscovered, v1alpha1.ReasonJVMStarting)
	add(1, v1alpha1.PhaseJavaFound, v1alpha1.ReasonRolloutPending)
	add(1, v1alpha1.PhasePending, v1alpha1.ReasonNotReached)
	f.members = append(f.members, member{pod: &corev1.Pod{}})
	attached := preflightMember("attached", v1alpha1.PhaseExposed, "")
	attached.attachment.Status.Processes[0].AgentFound = true
	byNode := preflightMember("by-node", v1alpha1.PhaseJavaFound, v1alpha1.ReasonPreflight)
	byNode.attachment.Status.Containers = []v1alpha1.InspectedContainer{{Name: byNode.attachment.Status.Processes[0].Container, Transport: v1alpha1.TransportNode}}
	f.members = append(f.members, attached, byNode)

	want := &v1alpha1.Preflight{
		Attachable: "4/16", Pending: 5,
		Reasons: []v1alpha1.PreflightReason{
			{Reason: "AttachDisabled", Count: 4, Pods: []string{"AttachDisabled-0", "AttachDisabled-1", "AttachDisabled-2"}},
			{Reason: "ContainerNotRunning", Count: 1, Pods: []string{"ContainerNotRunning-0"}},
			{Reason: "InsufficientMemory", Count: 1, Pods: []string{"InsufficientMemory-0"}},
			{Reason: "PodClaimed", Count: 1, Pods: []string{"z-0"}, Message: "The pod belongs to the exporter other."},
		},
		Transports: []v1alpha1.TransportCount{{Transport: "Exec", Count: 3}, {Transport: "Node", Count: 1}},
	}
	got := f.preflight()
	got.Memory = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// A transport counts only if the operator may use it.
func TestPreflightTransport(t *testing.T) {
	noShell := preflightMember("a", v1alpha1.PhaseDiscovered, v1alpha1.ReasonNoShell)
	noShell.attachment.Status.Containers = []v1alpha1.InspectedContainer{{Name: "app", Reason: v1alpha1.ReasonNoShell}}
	forbidden := preflightMember("b", v1alpha1.PhaseDiscovered, v1alpha1.ReasonTransportForbidden)
	for name, tc := range map[string]struct {
		member    member
		transport v1alpha1.Transport
		want      bool
	}{
		"both transports are allowed":                {noShell, v1alpha1.TransportAuto, true},
		"exec only is allowed":                       {noShell, v1alpha1.TransportExec, false},
		"ephemeral containers only are allowed":      {noShell, v1alpha1.TransportEphemeralContainer, true},
		"node agents only are allowed":               {noShell, v1alpha1.TransportNode, false},
		"the operator has no right to the transport": {forbidden, v1alpha1.TransportEphemeralContainer, false},
	} {
		if got := tc.member.takesDoor(tc.transport); got != tc.want {
			t.Errorf("%s: takesDoor: got %t, want %t", name, got, tc.want)
		}
	}
}
