package funcs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// NamespaceLabeled sets a label of a namespace.
func NamespaceLabeled(namespace, key, value string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
		return c.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, client.RawPatch("application/merge-patch+json", patch))
	})
}

// NetworkPoliciesEnforced has the operator's pod let in what the NetworkPolicies of a
// kustomization let in, and nothing else, until the step ends. Not every cluster's
// network enforces them: a packet filter in the pod does what one would.
func (s *Suite) NetworkPoliciesEnforced(kustomization string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		pod := c.theOperator(ctx, t)
		var rules [][]string
		eventually(ctx, t, func(ctx context.Context) error {
			objects, err := s.build(ctx, kustomization)
			if err != nil {
				return err
			}
			rules = nil
			for _, object := range objects {
				var policy networkingv1.NetworkPolicy
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &policy); err != nil {
					return err
				}
				let, err := c.letIn(ctx, &policy, pod)
				if err != nil {
					return err
				}
				rules = append(rules, let...)
			}
			return nil
		})
		filter := func(ctx context.Context, arguments ...string) error {
			_, err := c.inNetworkOf(ctx, pod, append([]string{"/usr/sbin/iptables"}, arguments...)...)
			return err
		}
		// Idempotent, for a try whose answer was lost.
		eventually(ctx, t, func(ctx context.Context) error {
			set := [][]string{{"--flush", "INPUT"}, {"--append", "INPUT", "--in-interface", "lo", "--jump", "ACCEPT"},
				{"--append", "INPUT", "--match", "conntrack", "--ctstate", "ESTABLISHED,RELATED", "--jump", "ACCEPT"}}
			for _, rule := range append(set, rules...) {
				if err := filter(ctx, rule...); err != nil {
					return err
				}
			}
			return filter(ctx, "--append", "INPUT", "--jump", "DROP")
		})
		t.Cleanup(func() {
			if err := await(context.WithoutCancel(ctx), patience, func(ctx context.Context) error { return filter(ctx, "--flush", "INPUT") }); err != nil {
				t.Errorf("the packet filter of %s stays: %v", pod.Name, err)
			}
		})
	})
}

// letIn are the rules of a packet filter for what a policy lets in to a pod that it
// selects. It refuses what it cannot say, rather than to let more in or less.
func (c *cluster) letIn(ctx context.Context, policy *networkingv1.NetworkPolicy, pod *corev1.Pod) (rules [][]string, err error) {
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil || policy.Namespace != pod.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
		return nil, errors.Join(err, fmt.Errorf("policy %s does not select the operator's pod", policy.Name))
	}
	if len(policy.Spec.PolicyTypes) != 1 || policy.Spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
		return nil, fmt.Errorf("policy %s is not of ingress alone", policy.Name)
	}
	for _, ingress := range policy.Spec.Ingress {
		sources := []string{"0.0.0.0/0"}
		if len(ingress.From) > 0 {
			sources = nil
		}
		for _, peer := range ingress.From {
			if peer.NamespaceSelector == nil || peer.PodSelector != nil || peer.IPBlock != nil {
				return nil, fmt.Errorf("policy %s has a peer that is not a selector of namespaces alone", policy.Name)
			}
			addresses, err := c.addressesIn(ctx, peer.NamespaceSelector)
			if err != nil {
				return nil, err
			}
			sources = append(sources, addresses...)
		}
		for _, port := range ingress.Ports {
			number, err := portOf(pod, port.Port)
			if err != nil {
				return nil, err
			}
			for _, source := range sources {
				rules = append(rules, []string{"--append", "INPUT", "--protocol", "tcp", "--source", source, "--dport", strconv.Itoa(int(number)), "--jump", "ACCEPT"})
			}
		}
	}
	return rules, nil
}

// addressesIn are those of the pods in the namespaces that a selector selects.
func (c *cluster) addressesIn(ctx context.Context, of *metav1.LabelSelector) (addresses []string, err error) {
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return nil, err
	}
	var namespaces corev1.NamespaceList
	if err := c.List(ctx, &namespaces, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, err
	}
	for _, namespace := range namespaces.Items {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace.Name)); err != nil {
			return nil, err
		}
		for _, pod := range pods.Items {
			if pod.Status.PodIP != "" && !pod.Spec.HostNetwork {
				addresses = append(addresses, pod.Status.PodIP)
			}
		}
	}
	return addresses, nil
}

// portOf is the number of a port that a policy names.
func portOf(pod *corev1.Pod, port *intstr.IntOrString) (int32, error) {
	if port == nil {
		return 0, errors.New("a policy lets in to all ports")
	}
	if port.Type == intstr.Int {
		return port.IntVal, nil
	}
	for _, container := range pod.Spec.Containers {
		for _, p := range container.Ports {
			if p.Name == port.StrVal {
				return p.ContainerPort, nil
			}
		}
	}
	return 0, fmt.Errorf("pod %s has no port %s", pod.Name, port.StrVal)
}

// OperatorAnswers asserts what the operator says to the one pod of a namespace on the
// ports metrics and health: an HTTP status, with a token that may read the metrics, or
// 0 where no connection comes about.
func OperatorAnswers(namespace string, metrics, health int) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		pods, err := c.pods(ctx, namespace, "app=dummyapp")
		if err != nil {
			return err
		}
		if len(pods) != 1 {
			return fmt.Errorf("%d pods are in %s, not one", len(pods), namespace)
		}
		operator, err := c.operator(ctx)
		if err != nil {
			return err
		}
		token, err := c.scraper(ctx)
		if err != nil {
			return err
		}
		for url, want := range map[string]int{
			"https://" + operator.Status.PodIP + ":8443/metrics": metrics,
			"http://" + operator.Status.PodIP + ":8081/healthz":  health,
		} {
			output, err := c.inNetworkOf(ctx, &pods[0], "sh", "-c",
				`curl --silent --insecure --max-time 5 --header "Authorization: Bearer $1" --output /dev/null --write-out '%{http_code}' "$2" || true`, "curl", token, url)
			if err != nil {
				return err
			}
			if got, err := strconv.Atoi(strings.TrimSpace(output)); err != nil || got != want {
				return fmt.Errorf("%s says %q to pod %s, not %d", url, output, pods[0].Name, want)
			}
		}
		return nil
	})
}

// inNetworkOf runs a program of the node in the network of a pod.
func (c *cluster) inNetworkOf(ctx context.Context, pod *corev1.Pod, command ...string) (string, error) {
	seen, err := c.look(ctx, []corev1.Pod{*pod})
	if err != nil {
		return "", err
	}
	if len(seen.processes) == 0 {
		return "", fmt.Errorf("no process runs in pod %s", pod.Name)
	}
	return c.observe(ctx, pod.Spec.NodeName, append([]string{"nsenter", "--target", "1", "--mount", "--",
		"nsenter", "--target", strconv.Itoa(seen.processes[0].hostPID), "--net", "--"}, command...)...)
}
