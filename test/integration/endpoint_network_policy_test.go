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

// The NetworkPolicy that is shipped is one to the API server, selects the operator's
// pods, and lets in on the ports that they have and nowhere else: on metrics only from
// namespaces that are labeled.
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
		t.Errorf("it selects %s, not the operator's pods", selector)
	}
	if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Errorf("it is about %v", policy.Spec.PolicyTypes)
	}
	for port, test := range map[string]struct {
		from labels.Set
		want bool
	}{
		"health":  {labels.Set{}, true},
		"metrics": {labels.Set{}, false},
	} {
		if got := admits(t, &policy, port, test.from); got != test.want {
			t.Errorf("port %s is open to everybody: %t", port, got)
		}
		if !admits(t, &policy, port, labels.Set{"metrics": "enabled"}) {
			t.Errorf("port %s is closed to Prometheus", port)
		}
		if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port }) {
			t.Errorf("the operator has no port %s", port)
		}
	}
	if admits(t, &policy, "other", labels.Set{"metrics": "enabled"}) {
		t.Error("other ports are open")
	}
}

// admits reports whether a policy lets in from a namespace with these labels.
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
