package pod

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Protection lists the kinds of pods and containers that the operator attaches to only
// if its flags allow it, whatever an exporter selects: those with power over the node,
// and those that the cluster or the operator itself depends on. The zero value allows
// none.
type Protection struct {
	// OwnNamespace is the operator's own namespace; empty outside a cluster.
	OwnNamespace string
	// AllowKubeSystem allows pods in the namespace kube-system.
	AllowKubeSystem bool
	// AllowOwnNamespace allows pods in OwnNamespace.
	AllowOwnNamespace bool
	// AllowPrivileged allows privileged containers.
	AllowPrivileged bool
	// AllowHostPID allows pods with hostPID.
	AllowHostPID bool
	// AllowHostNetwork allows pods with hostNetwork.
	AllowHostNetwork bool
}

// Pod returns why the operator does not attach to a pod, as a sentence; empty if it may.
func (p Protection) Pod(pod *corev1.Pod) string {
	var is, flags []string
	for _, kind := range []struct {
		applies, allowed bool
		is, flag         string
	}{
		{pod.Namespace == metav1.NamespaceSystem, p.AllowKubeSystem, "is in namespace " + metav1.NamespaceSystem, "--allow-kube-system"},
		{p.OwnNamespace != "" && pod.Namespace == p.OwnNamespace, p.AllowOwnNamespace, "is in the operator's own namespace", "--allow-own-namespace"},
		{pod.Spec.HostPID, p.AllowHostPID, "shares the node's process IDs (hostPID)", "--allow-host-pid"},
		{pod.Spec.HostNetwork, p.AllowHostNetwork, "shares the node's network (hostNetwork)", "--allow-host-network"},
	} {
		if kind.applies && !kind.allowed {
			is, flags = append(is, kind.is), append(flags, kind.flag)
		}
	}
	return protected("The pod", is, flags)
}

// Container returns why the operator does not attach to a container, as a sentence; empty
// if it may. Each container is judged separately: an exec has the privileges of its own
// container, and none of those of a privileged one in the same pod.
func (p Protection) Container(pod *corev1.Pod, name string) string {
	if refused := p.Pod(pod); refused != "" || p.AllowPrivileged {
		return refused
	}
	if c := Named(pod, name); c != nil && c.SecurityContext != nil && ptr.Deref(c.SecurityContext.Privileged, false) {
		return protected("The container", []string{"is privileged"}, []string{"--allow-privileged"})
	}
	return ""
}

func protected(subject string, is, flags []string) string {
	if len(flags) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%s %s; the operator does not attach to it. To allow that, start the operator with %s.",
		subject, strings.Join(is, " and "), strings.Join(flags, " and "))
}
