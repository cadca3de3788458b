package integration

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// needsEachRule lifts each rule of the policies whose name has a prefix, and expects that one
// of the attacks succeeds then: a rule that prevents none alone is not tested. All policies
// are enforced. Policies for different resources are lifted at the same time.
func (c *contained) needsEachRule(prefix string, attacks []attempt) {
	c.t.Helper()
	deniedBy := map[string][]attempt{}
	for _, a := range attacks {
		policy := policyOf(a.try())
		deniedBy[policy] = append(deniedBy[policy], a)
	}
	policies := map[string][]*admissionv1.ValidatingAdmissionPolicy{}
	for _, object := range c.policies {
		if u := object.(*unstructured.Unstructured); u.GetKind() == "ValidatingAdmissionPolicy" && strings.HasPrefix(u.GetName(), prefix) &&
			u.GetName() != "jmx-exporter-operator-creator" { // TestAuthorityAttacks
			var policy admissionv1.ValidatingAdmissionPolicy
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &policy); err != nil {
				c.t.Fatal(err)
			}
			resource := policy.Spec.MatchConstraints.ResourceRules[0].Resources[0]
			policies[resource] = append(policies[resource], &policy)
		}
	}
	var all sync.WaitGroup
	for _, same := range policies {
		all.Go(func() {
			for _, policy := range same {
				if err := c.liftsEachRule(policy, deniedBy[policy.Name]); err != nil {
					c.t.Errorf("%s: %v", policy.Name, err)
				}
			}
		})
	}
	all.Wait()
}

// liftsEachRule lifts the rules of one policy in turn, with the attacks that it denies.
func (c *contained) liftsEachRule(policy *admissionv1.ValidatingAdmissionPolicy, attacks []attempt) error {
	var succeed []attempt
	for i, rule := range policy.Spec.Validations {
		rules := slices.Clone(policy.Spec.Validations)
		rules[i].Expression = "true"
		if err := setRules(c.t.Context(), policy, rules); err != nil {
			return err
		}
		// What succeeded without another rule is denied by that one alone.
		succeed = nil
		if !effective(c.t.Context(), func() bool {
			for _, a := range attacks {
				if a.try() == nil {
					succeed = append(succeed, a)
				}
			}
			return len(succeed) > 0
		}) {
			c.t.Errorf("%s: no attack needs the rule with the message %s", policy.Name, rule.Message+rule.MessageExpression)
		}
		attacks = slices.DeleteFunc(attacks, func(a attempt) bool {
			return slices.ContainsFunc(succeed, func(s attempt) bool { return s.what == a.what })
		})
	}
	if err := setRules(c.t.Context(), policy, policy.Spec.Validations); err != nil {
		return err
	}
	if !effective(c.t.Context(), func() bool {
		return !slices.ContainsFunc(succeed, func(a attempt) bool { return a.try() == nil })
	}) {
		return errors.New("a rule that is restored denies nothing")
	}
	return nil
}

// setRules sets the rules of a policy.
func setRules(ctx context.Context, policy *admissionv1.ValidatingAdmissionPolicy, rules []admissionv1.Validation) error {
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"validations": rules}})
	if err != nil {
		return err
	}
	return admin.Patch(ctx, policy.DeepCopy(), client.RawPatch(types.MergePatchType, data))
}

// effective waits for the effect of a change of policies, and reports whether it came.
func effective(ctx context.Context, condition func() bool) bool {
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	}) == nil
}

var denials = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']*)'`)

// policyOf returns the policy that denied a request.
func policyOf(err error) string {
	if err == nil {
		return ""
	}
	if by := denials.FindStringSubmatch(err.Error()); by != nil {
		return by[1]
	}
	return err.Error()
}

// beyond are attacks for which the token needs rights that the operator's roles do not grant:
// what else grants them does not lift the policies.
func (t *target) beyond() []attempt {
	t.t.Helper()
	user := "system:serviceaccount:" + t.home.Namespace + ":" + t.home.Spec.ServiceAccountName
	t.bindUser(user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"create", "delete"}})
	unbound := *t.contained
	config := rest.CopyConfig(t.config)
	config.Impersonate.Extra = nil
	var err error
	if unbound.client, err = newClient(config); err != nil {
		t.t.Fatal(err)
	}
	byUnbound := *t
	byUnbound.contained = &unbound
	return []attempt{
		{"a pod is created", func() error {
			p := aPod("evil").pod
			p.Namespace = t.namespace
			return t.client.Create(t.t.Context(), &p, client.DryRunAll)
		}},
		{"a pod is deleted", func() error { return t.client.Delete(t.t.Context(), t.pod.DeepCopy(), client.DryRunAll) }},
		{"a Service is deleted", func() error { return t.client.Delete(t.t.Context(), t.service.DeepCopy(), client.DryRunAll) }},
		byUnbound.adds("an ephemeral container is added with a token of no pod", func(*corev1.EphemeralContainer) {}),
	}
}

// slight are attacks that only one rule prevents: all but one property is that of the
// operator's objects.
func (t *target) slight() []attempt {
	t.t.Helper()
	foreign := create(t.t, &corev1.Service{ObjectMeta: t.named("payments-jmx-0123abcd"), Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: selection.PortName, Port: 80}},
	}})
	return []attempt{
		t.adds("an ephemeral container with a message at another path is added", func(c *corev1.EphemeralContainer) { c.TerminationMessagePath = "/tmp/message" }),
		t.adds("an ephemeral container that its image may run as root is added", func(c *corev1.EphemeralContainer) { c.SecurityContext.RunAsNonRoot = nil }),
		t.makes("a Service with an address is created", func(s *corev1.Service) { s.Spec.ClusterIP = "" }),
		t.makes("a Service with another port is created", func(s *corev1.Service) { s.Spec.Ports[0].Name = "https" }),
		t.makes("a Service with endpoints of one node is created", func(s *corev1.Service) {
			s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
		}),
		{"a foreign headless Service becomes the operator's", func() error {
			return patches(t, t.client, foreign.DeepCopy(), func(s *corev1.Service) { s.Labels, s.OwnerReferences = t.service.Labels, t.service.OwnerReferences })
		}},
		t.slicesOf("an EndpointSlice without an owner is created", func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil }),
		t.slicesOf("an EndpointSlice with the host name of a pod is created", func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Hostname = new("evil") }),
		t.slicesOf("an EndpointSlice with another port is created", func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = new("https") }),
	}
}
