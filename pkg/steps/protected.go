package steps

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
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

// pod returns why the operator does not attach to a pod; nil if it may.
func (p Protection) pod(pod *corev1.Pod) *statemachine.Outcome {
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

// container returns why the operator does not attach to a container; nil if it may. Each
// container is judged separately: an exec has the privileges of its own container, and
// none of those of a privileged one in the same pod.
func (p Protection) container(pod *corev1.Pod, name string) *statemachine.Outcome {
	if refused := p.pod(pod); refused != nil || p.AllowPrivileged {
		return refused
	}
	if c := transport.ContainerNamed(pod, name); c != nil && c.SecurityContext != nil && ptr.Deref(c.SecurityContext.Privileged, false) {
		return protected("The container", []string{"is privileged"}, []string{"--allow-privileged"})
	}
	return nil
}

func protected(subject string, is, flags []string) *statemachine.Outcome {
	if len(flags) == 0 {
		return nil
	}
	return new(NotDone(v1alpha1.ReasonPodProtected, fmt.Sprintf(
		"%s %s; the operator does not attach to it. To allow that, start the operator with %s.",
		subject, strings.Join(is, " and "), strings.Join(flags, " and "))))
}

// podProtected returns why nothing may be executed in the pod; nil if it may, or if an
// agent may already be there.
func (s *Scope) podProtected() *statemachine.Outcome {
	if slices.ContainsFunc(running(s.Pod), s.mayServe) {
		return nil
	}
	return s.Protection.pod(s.Pod)
}

// mayServe reports whether the container serves metrics or has an agent, because it was
// attached to when the flags allowed it. For a lost record this is unknown, so any
// container may.
func (s *Scope) mayServe(c container) bool {
	return s.lost() || s.find(func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == c.id && serves(p) }) != nil
}

func serves(p *v1alpha1.JavaProcess) bool { return MayHaveAgent(p) || p.Endpoint != nil }
