package integration

import (
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// The shipped NetworkPolicy is accepted by the API server, selects the operator's pods, and
// admits traffic to their ports and no others: to metrics only from labeled
// namespaces.
func TestNetworkPolicyOfOperator(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var policy networkingv1.NetworkPolicy
	var operator appsv1.Deployment
	for file, object := range map[string]any{
		"../../config/network-policy/operator.yaml": &policy, "../../config/manager/deployment.yaml": &operator,
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(data, object); err != nil {
			t.Fatal(err)
		}
	}
	policy.Namespace = c.namespace
	create(t, &policy)

	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil {
		t.Fatal(err)
	}
	pod := operator.Spec.Template
	if !selector.Matches(labels.Set(pod.Labels)) || selector.Empty() {
		t.Errorf("selector %s does not match the operator's pods", selector)
	}
	if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("policyTypes: got %v, want Ingress only", policy.Spec.PolicyTypes)
	}
	for port, test := range map[string]struct {
		from labels.Set
		want bool
	}{
		"health":  {labels.Set{}, true},
		"metrics": {labels.Set{}, false},
	} {
		if got := admits(t, &policy, port, test.from); got != test.want {
			t.Errorf("port %s admits every namespace: got %t, want %t", port, got, test.want)
		}
		if !admits(t, &policy, port, labels.Set{"metrics": "enabled"}) {
			t.Errorf("port %s does not admit Prometheus", port)
		}
		if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port }) {
			t.Errorf("the Deployment has no port %s", port)
		}
	}
	if admits(t, &policy, "other", labels.Set{"metrics": "enabled"}) {
		t.Error("other ports are admitted")
	}
}

// admits reports whether a policy admits traffic from a namespace with these labels.
func admits(t *testing.T, policy *networkingv1.NetworkPolicy, port string, namespace labels.Set) bool {
	t.Helper()
	for _, rule := range policy.Spec.Ingress {
		if len(rule.Ports) > 0 && !slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port == nil || p.Port.StrVal == port }) {
			continue
		}
		if len(rule.From) == 0 {
			return true
		}
		for _, peer := range rule.From {
			selector, err := metav1.LabelSelectorAsSelector(peer.NamespaceSelector)
			if err != nil {
				t.Fatal(err)
			}
			if selector.Matches(namespace) {
				return true
			}
		}
	}
	return false
}
