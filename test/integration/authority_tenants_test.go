package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/policies"
)

var (
	onTenants      = []string{"config/tenants"}
	tenantsAttacks = map[string]attack{
		"an exporter is created in a namespace that did not opt in": {onTenants, notOptedIn, func(n *tenancy) bool {
			n.optOut()
			return n.by(n.alice.Create(n.t.Context(), n.anExporter("another")))
		}},
		"the spec is changed in a namespace that opted out": {onTenants, notOptedIn, func(n *tenancy) bool {
			n.optOut()
			return n.by(n.alice.Patch(n.t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`)))
		}},
		"a rollout is resumed in a namespace that opted out": {onTenants, notOptedIn, func(n *tenancy) bool {
			n.optOut()
			return n.by(n.alice.Patch(n.t.Context(), n.exporter, annotate(v1alpha1.AnnotationResume, "2")))
		}},
		"the operator executes in a namespace that did not opt in": {onTenants, notOptedIn, func(n *tenancy) bool {
			pod := n.run(aPod("app-0"))
			n.optOut()
			return n.byOperator(clientsetOf(n.t, impersonated(n.operator())).CoreV1().RESTClient().Post().
				Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("exec").
				VersionedParams(&corev1.PodExecOptions{Container: "app", Command: []string{"sh"}, Stdout: true}, clientgoscheme.ParameterCodec).
				Do(n.t.Context()).Error())
		}},
		"the operator adds an ephemeral container in a namespace that did not opt in": {onTenants, notOptedIn, func(n *tenancy) bool {
			pod := n.run(aPod("app-0"))
			n.optOut()
			door := patch(`{"spec":{"ephemeralContainers":[{"name":"door","image":"operator","terminationMessagePolicy":"File"}]}}`)
			return n.byOperator(as(n.t, n.operator()).SubResource("ephemeralcontainers").Patch(n.t.Context(), pod, door))
		}},
		"rules are written without the right": {onTenants, mayNotWriteRules, func(n *tenancy) bool {
			return n.by(n.mallory.Create(n.t.Context(), n.labeledRules("mallorys")))
		}},
		"rules get the label without the right": {onTenants, mayNotWriteRules, func(n *tenancy) bool {
			configMap := n.labeledRules("mallorys")
			configMap.Labels = nil
			n.must(n.mallory.Create(n.t.Context(), configMap))
			return n.by(n.mallory.Patch(n.t.Context(), configMap, metadata(map[string]any{"labels": map[string]any{v1alpha1.LabelRules: "x"}})))
		}},
		"rules are changed without the right": {onTenants, mayNotWriteRules, func(n *tenancy) bool {
			configMap := n.labeledRules("alices")
			n.must(n.alice.Create(n.t.Context(), configMap))
			return n.by(n.mallory.Patch(n.t.Context(), configMap, patch(`{"data":{"config.yaml":"rules: []"}}`)))
		}},
		"binary rules are changed without the right": {onTenants, mayNotWriteRules, func(n *tenancy) bool {
			configMap := n.labeledRules("alices")
			n.must(n.alice.Create(n.t.Context(), configMap))
			return n.by(n.mallory.Patch(n.t.Context(), configMap, patch(`{"binaryData":{"other.yaml":"cnVsZXM="}}`)))
		}},
	}
)

// Each attack of a tenant succeeds without config/tenants, and fails with it; without any of
// the rules, one of them succeeds. (What go test prints for this test is without its attacks.)
func TestTenantsAttacks(t *testing.T) {
	t.Parallel()
	eachRuleIsNeeded(t, "config/tenants", "", tenantsAttacks)
	for name, attack := range tenantsAttacks {
		t.Run(name, attack.run)
	}
}

// optOut removes the namespace's label, and waits until the policies see that.
func (n *tenancy) optOut() {
	n.t.Helper()
	n.optIn(nil)
	if n.guarded {
		eventually(n.t, func() bool {
			return denied(n.alice.Create(n.t.Context(), n.anExporter("probe"), client.DryRunAll), "jmx-exporter-operator-namespaces")
		})
	}
}

// operator returns a client of an operator's service account in the namespace.
func (n *tenancy) operator() string {
	user := "system:serviceaccount:" + n.namespace + ":jmx-exporter-operator"
	n.bindUser(user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec", "pods/ephemeralcontainers"}, Verbs: []string{"create", "get", "patch"}})
	eventually(n.t, func() bool {
		return apierrors.IsNotFound(as(n.t, user).SubResource("ephemeralcontainers").Patch(n.t.Context(), &corev1.Pod{ObjectMeta: n.named("nobody")}, patch(`{}`)))
	})
	return user
}

// byOperator reports whether a request of the operator was admitted: it cannot succeed
// without a kubelet.
func (n *tenancy) byOperator(err error) bool {
	n.t.Helper()
	if apierrors.IsForbidden(err) && !denied(err, "jmx-exporter-operator-namespaces") {
		n.t.Fatal(err)
	}
	return !apierrors.IsForbidden(err)
}

// The operator's session in its node agents needs no label of its own namespace; any other
// exec there does. Not parallel: the policies of config/tenants are for the whole cluster.
func TestTenantsNodeAgents(t *testing.T) {
	c := contain(t, "default", "node", "tenants")
	other := c.run(aPod("jmx-exporter-other"))
	in := func(pod *corev1.Pod, container string, command []string) func() error {
		return c.execsIn("", pod, container, command, false)[0].try
	}
	inOther := in(other, "app", c.commands.Current)
	eventually(t, func() bool { return inOther() == nil })
	c.enforce(func() bool { return policyOf(inOther()) == "jmx-exporter-operator-namespaces" })
	if err := in(c.agent, policies.NodeContainer, policies.NodeCommand())(); err != nil {
		t.Errorf("a session in a node agent: got %v, want admission", err)
	}
}

// Where the operator requires the label, a ConfigMap without it is no configuration;
// existing endpoints keep serving.
func TestRulesLabelRequired(t *testing.T) {
	t.Parallel()
	f := aFleet(t, 1, nil)
	f.o.settle()
	f.later(2 * time.Minute)
	f.expect("the label is not required", isAnnotated)
	f.requireLabel = true
	f.o = f.operate()
	f.expect("the label is required", isAnnotated)
	f.expectConfigValid("the label is required", metav1.ConditionFalse, v1alpha1.ReasonConfigMapUnlabeled)
	if f.endpoints(f.exporter) == "" {
		t.Error("the endpoint was removed")
	}
	change(t, f.configMap(), func(c *corev1.ConfigMap) { c.Labels = map[string]string{v1alpha1.LabelRules: ""} })
	f.expectConfigValid("the ConfigMap is labeled", metav1.ConditionTrue, "Valid")
	f.expect("the ConfigMap is labeled", isAnnotated)
}

func (f *fleet) configMap() *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: f.named("rules")} }

func (f *fleet) expectConfigValid(when string, status metav1.ConditionStatus, reason string) {
	f.t.Helper()
	f.o.settle()
	get(f.t, f.exporter)
	if c := meta.FindStatusCondition(f.exporter.Status.Conditions, v1alpha1.ConditionConfigValid); c == nil || c.Status != status || c.Reason != reason {
		f.t.Errorf("%s: unexpected ConfigValid %+v", when, c)
	}
}
