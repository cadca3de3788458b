package integration

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/internal/controller/authority"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// Of users with random rights, only those who could exec themselves act through the
// operator: the others do not pass the admission policy, and the operator does not
// attach for an exporter that they wrote while they had more rights.
func TestRandomUsers(t *testing.T) {
	t.Parallel()
	const users, operatedUsers = 100, 12
	seed := uint64(time.Now().UnixNano())
	t.Logf("the seed is %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	c := newCluster(t)
	c.enforce("config/policies")
	operated := &fleet{cluster: newCluster(t)} // without policies: its users had the rights once
	operated.configure(rules)
	rights := make([][]rbacv1.PolicyRule, users)
	for i := range rights {
		rights[i] = randomRights(random, nameOf(i))
		c.bind(nameOf(i), append(slices.Clone(rights[i]), mayConfigure)...)
		if i < operatedUsers {
			operated.bind(nameOf(i), rights[i]...)
		}
	}
	for _, last := range []*cluster{c, operated.cluster} { // RBAC knows all users once it knows the last one
		last.bind("last", mayWrite, mayConfigure, mayExec)
		eventually(t, func() bool {
			return as(t, last.user("last")).Create(t.Context(), last.anExporter("last"), client.DryRunAll) == nil
		})
	}

	reviews := authority.New(clientsetOf(t, config).AuthorizationV1(), effects.Direct, c.clock)
	want, act := make([]string, 0, operatedUsers), 0
	for i, rules := range rights {
		name, e := nameOf(i), c.anExporter(nameOf(i))
		attaches := allows(rules, "create", "", "pods/exec", "") || allows(rules, "attach", v1alpha1.GroupVersion.Group, "prometheusjmxexporters", name)
		creates := attaches && allows(rules, "create", v1alpha1.GroupVersion.Group, "prometheusjmxexporters", "")
		if err := as(t, c.user(name)).Create(t.Context(), e); (err == nil) != creates {
			t.Errorf("creation of an exporter by %s: got %v with the rules %v", name, err, rules)
		}
		who := steps.Requester{User: c.user(name), Groups: []string{"system:authenticated"}}
		if allowed, err := reviews.MayAttach(t.Context(), who, client.ObjectKeyFromObject(e)); allowed != attaches || err != nil {
			t.Errorf("MayAttach of %s: got %t, %v with the rules %v", name, allowed, err, rules)
		}
		if attaches {
			act++
		}
		if i < operatedUsers {
			want = append(want, map[bool]string{true: isAnnotated, false: "Discovered NotAuthorized"}[attaches])
			operated.exportAs(name)
		}
	}
	if act == 0 || act == users {
		t.Fatalf("%d of %d users may attach, so this test proves nothing", act, users)
	}
	t.Logf("%d of %d users may attach", act, users)
	operated.o = operated.operate()
	operated.expect("after attaching for all users", want...)
}

// exportAs creates an exporter stamped with a user, and a pod for it.
func (f *fleet) exportAs(name string) {
	f.t.Helper()
	e := f.anExporter(name)
	e.Spec.LabelSelector = map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(name)}
	e.Annotations = map[string]string{v1alpha1.AnnotationRequester: f.user(name), v1alpha1.AnnotationRequesterGroups: `["system:authenticated"]`}
	create(f.t, e)
	pod := aPod(name)
	pod.pod.Labels = map[string]string{"app": name}
	f.pods = append(f.pods, f.run(pod))
}

func nameOf(user int) string { return fmt.Sprintf("user-%d", user) }

// randomRights returns a few rights, most of them similar to the relevant ones.
func randomRights(random *rand.Rand, name string) []rbacv1.PolicyRule {
	pick := func(from ...string) []string { return []string{from[random.IntN(len(from))]} }
	var rules []rbacv1.PolicyRule
	for range 1 + random.IntN(4) {
		rule := rbacv1.PolicyRule{
			APIGroups: pick("", "", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Group, "*"),
			Resources: pick("pods", "pods/exec", "pods/exec", "pods/log", "*/exec", "prometheusjmxexporters", "prometheusjmxexporters", "prometheusjmxexporters/status", "*"),
			Verbs:     pick("get", "create", "create", "create", "patch", "attach", "attach", "*"),
		}
		if random.IntN(5) == 0 {
			rule.ResourceNames = pick(name, "other")
		}
		rules = append(rules, rule)
	}
	return rules
}

// allows is the oracle: RBAC according to its documentation. A name is empty if the
// request has none.
func allows(rules []rbacv1.PolicyRule, verb, group, resource, name string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		has := func(list []string, value string) bool {
			return slices.Contains(list, "*") || slices.Contains(list, value)
		}
		anyExec := resource == "pods/exec" && slices.Contains(r.Resources, "*/exec")
		return has(r.Verbs, verb) && has(r.APIGroups, group) && (has(r.Resources, resource) || anyExec) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
	})
}
