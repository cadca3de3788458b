package integration

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

var allPolicies = []string{"config/policies", "config/stamp", "config/tenants"}

// Anyone with write access may make changes that attach nothing, and a user with the
// right to attach may make every change, with all policies enforced.
func TestAuthorityPasses(t *testing.T) {
	t.Parallel()
	n := newTenancy(t, allPolicies...)
	labeled := n.labeledRules("rules")
	n.must(n.alice.Create(t.Context(), labeled))
	n.bind("bob", mayWrite, mayConfigure, mayAttach)
	named := mayAttach
	named.ResourceNames = []string{"carols"}
	n.bind("carol", mayWrite, mayConfigure, named)
	bob, carol := as(t, n.user("bob")), as(t, n.user("carol"))
	eventually(t, func() bool { return carol.Create(t.Context(), n.anExporter("carols"), client.DryRunAll) == nil })
	eventually(t, func() bool { return bob.Create(t.Context(), n.anExporter("bobs"), client.DryRunAll) == nil })

	finalizer := func(set ...string) client.Patch { return metadata(map[string]any{"finalizers": set}) }
	for _, tc := range []struct {
		what  string
		err   func() error
		stays bool // the stamp is unchanged
	}{
		{"labels are changed", func() error {
			return n.mallory.Patch(t.Context(), n.exporter, metadata(map[string]any{"labels": map[string]any{"a": "b"}}))
		}, true},
		{"another annotation is added", func() error { return n.mallory.Patch(t.Context(), n.exporter, annotate("a", "b")) }, true},
		{"a finalizer is added", func() error { return n.mallory.Patch(t.Context(), n.exporter, finalizer("a.b/c")) }, true},
		{"the finalizers are removed", func() error { return n.mallory.Patch(t.Context(), n.exporter, finalizer()) }, true},
		{"labels are applied", func() error { return n.apply(n.mallory, n.exporter.Name, `metadata: {labels: {a: c}}`) }, true},
		{"the same spec is applied", func() error { return n.apply(n.mallory, n.exporter.Name, `spec: {port: 9400}`) }, true},
		{"a ConfigMap without the label is created", func() error {
			return n.mallory.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: n.named("other")})
		}, true},
		{"a finalizer is added to labeled rules", func() error { return n.mallory.Patch(t.Context(), labeled, finalizer("a.b/c")) }, true},
		{"the finalizers are removed from labeled rules", func() error { return n.mallory.Patch(t.Context(), labeled, finalizer()) }, true},
		{"the label is removed from rules", func() error {
			return n.mallory.Patch(t.Context(), labeled, metadata(map[string]any{"labels": nil}))
		}, true},
		{"a user who may exec changes the spec", func() error { return n.alice.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`)) }, true},
		{"a user who may exec resumes the rollout", func() error { return n.alice.Patch(t.Context(), n.exporter, annotate(v1alpha1.AnnotationResume, "2")) }, true},
		{"a user who may attach writes rules", func() error { return bob.Create(t.Context(), n.labeledRules("bobs")) }, true},
		{"a user who may attach creates an exporter", func() error { return bob.Create(t.Context(), n.anExporter("bobs")) }, true},
		{"a user who may attach for one name creates that exporter", func() error { return carol.Create(t.Context(), n.anExporter("carols")) }, true},
		{"a user who may attach changes the spec", func() error { return bob.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9600}}`)) }, false},
	} {
		if err := tc.err(); err != nil {
			t.Errorf("%s: got error %v, want none", tc.what, err)
		}
		get(t, n.exporter)
		if got := n.exporter.Annotations[v1alpha1.AnnotationRequester]; (got == n.user("alice")) != tc.stays {
			t.Errorf("%s: the stamp names requester %s", tc.what, got)
		}
	}
	if n.by(carol.Create(t.Context(), n.anExporter("davids"))) {
		t.Error("a user who may attach for one name creates an exporter of another name")
	}
}

// The stamp is the user who made the request, with groups of any name; a dry run stores none.
func TestStamp(t *testing.T) {
	t.Parallel()
	n := newTenancy(t, "config/stamp")
	groups := []string{`a"b`, `c\d`, "e,f", "[g]", "ü"}
	dave := as(t, n.user("alice"), groups...)
	n.must(dave.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`), client.DryRunAll))
	if n.forged(n.exporter) {
		t.Error("a dry run changes the stamp")
	}
	n.must(dave.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`)))
	get(t, n.exporter)
	var got []string
	if err := json.Unmarshal([]byte(n.exporter.Annotations[v1alpha1.AnnotationRequesterGroups]), &got); err != nil {
		t.Errorf("the stamped groups %s are not JSON: %v", n.exporter.Annotations[v1alpha1.AnnotationRequesterGroups], err)
	}
	if diff := cmp.Diff(append(groups, "system:authenticated"), got); diff != "" {
		t.Errorf("stamped groups (-want +got):\n%s", diff)
	}

	// An exporter without annotations that is older than the policy gets no stamp.
	unstamped := newTenancy(t)
	unstamped.must(unstamped.mallory.Patch(t.Context(), unstamped.exporter, patch(`{"metadata":{"annotations":null}}`)))
	unstamped.enforce("config/stamp")
	unstamped.must(unstamped.mallory.Patch(t.Context(), unstamped.exporter, annotate(v1alpha1.AnnotationRequester, forged)))
	get(t, unstamped.exporter)
	if got := unstamped.exporter.Annotations; len(got) > 0 {
		t.Errorf("annotations of an exporter older than the policy: got %v, want none", got)
	}
}

// The status is the only subresource, and a write to it changes neither spec nor annotations.
func TestSubresources(t *testing.T) {
	t.Parallel()
	n := newTenancy(t)
	served, err := clientsetOf(t, config).Discovery().ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	n.must(err)
	var names []string
	for _, r := range served.APIResources {
		if strings.HasPrefix(r.Name, "prometheusjmxexporters") {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"prometheusjmxexporters", "prometheusjmxexporters/status"}, names); diff != "" {
		t.Errorf("resources of exporters (-want +got):\n%s", diff)
	}
	before := n.exporter.DeepCopy()
	n.must(n.mallory.Status().Patch(t.Context(), n.exporter, patch(
		`{"spec":{"port":1},"metadata":{"annotations":{"`+v1alpha1.AnnotationRequester+`":"x","`+v1alpha1.AnnotationResume+`":"9"}}}`)))
	get(t, n.exporter)
	if diff := cmp.Diff(before.Spec, n.exporter.Spec); diff != "" {
		t.Errorf("a write to the status changes the spec (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Annotations, n.exporter.Annotations); diff != "" {
		t.Errorf("a write to the status changes annotations (-before +after):\n%s", diff)
	}
}

// The role of config/rbac grants the verb attach, and no right that Kubernetes defines.
func TestAttachRole(t *testing.T) {
	t.Parallel()
	n := newTenancy(t, onCreator...)
	bob := as(t, n.user("bob"))
	n.bind("bob", mayWrite, mayConfigure)
	n.grant(n.user("bob"), "../../config/rbac/attach_role.yaml")
	eventually(t, func() bool { return bob.Create(t.Context(), n.anExporter("bobs")) == nil })
	var role rbacv1.Role
	role.Namespace, role.Name = n.namespace, "jmx-exporter-operator-attach"
	get(t, &role)
	if diff := cmp.Diff([]rbacv1.PolicyRule{mayAttach}, role.Rules); diff != "" {
		t.Errorf("rules of the role (-want +got):\n%s", diff)
	}
}
