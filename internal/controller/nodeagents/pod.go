package nodeagents

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/text"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// ContainerName is the name of the container of a node agent.
const ContainerName = "node-agent"

// Labels of the pods of the node agents.
const (
	labelName, labelComponent = "app.kubernetes.io/name", "app.kubernetes.io/component"
	nameValue, componentValue = DaemonSetName, "node-agent"
)

// DaemonSetName is the name of the DaemonSet of the node agents, and of their service account.
const DaemonSetName = "jmx-exporter-node"

// isAgent reports whether a pod is a node agent: the DaemonSet made it. What only has the
// labels would get configurations, with their secrets, and the operator's trust.
func isAgent(p *corev1.Pod) bool {
	controller := metav1.GetControllerOf(p)
	return p.Spec.ServiceAccountName == DaemonSetName &&
		controller != nil && controller.APIVersion == "apps/v1" && controller.Kind == "DaemonSet" && controller.Name == DaemonSetName
}

// agent is one pod of a node agent.
type agent struct {
	transport.Container
	ready   bool
	created time.Time
	// why says why it is not ready, with a colon before it; empty if nothing says so.
	why string
}

func (a agent) isReady() bool { return a.ready }

func (a agent) newerThan(b agent) bool {
	return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Pod, b.Pod)) > 0
}

func agentOf(p *corev1.Pod) agent {
	found := agent{Container: transport.Container{
		Namespace: p.Namespace, Pod: p.Name, PodUID: p.UID, Name: ContainerName, Node: nodeOf(p),
	}, created: p.CreationTimestamp.Time, why: why(p)}
	for _, c := range pod.Running(p) {
		if c.Name == ContainerName {
			found.ID = c.ID
		}
	}
	found.ready = found.ID != "" && p.DeletionTimestamp.IsZero() && !pod.ReadySince(p).IsZero()
	return found
}

// nodeOf returns the node of a pod of the DaemonSet: also the one that it waits to be scheduled
// to, which the controller of DaemonSets writes into its node affinity (GetTargetNodeName in
// k8s.io/kubernetes/pkg/controller/daemon/util). Empty for none.
func nodeOf(p *corev1.Pod) string {
	affinity := p.Spec.Affinity
	if p.Spec.NodeName != "" || affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return p.Spec.NodeName
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// why returns why a node agent is not ready: what its pod says, what the kubelet says of its
// container or, before there is one, what the scheduler says.
func why(p *corev1.Pod) string {
	switch {
	case !p.DeletionTimestamp.IsZero():
		return ": its pod is being deleted"
	case p.Status.Phase == corev1.PodFailed:
		return cause(p.Status.Reason, p.Status.Message)
	}
	for _, s := range p.Status.ContainerStatuses {
		switch {
		case s.Name != ContainerName:
		case s.State.Waiting != nil:
			return cause(s.State.Waiting.Reason, s.State.Waiting.Message)
		case s.State.Terminated != nil:
			return cause(s.State.Terminated.Reason, s.State.Terminated.Message)
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
			return cause(c.Reason, c.Message)
		}
	}
	return ""
}

// cause returns a reason and its message as part of a sentence, with a colon before each.
func cause(reason, message string) string {
	var said strings.Builder
	for _, part := range []string{text.Line(reason, 64), text.Line(message, 300)} {
		if part != "" {
			said.WriteString(": " + part)
		}
	}
	return said.String()
}
