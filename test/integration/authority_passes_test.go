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

// What attaches nothing passes for everybody who may write, and everything does for who
// has the right, with all policies enforced.
func TestAuthorityPasses(t *testing.T) {
	t.Parallel()
	n := newTenancy(t, allPolicies...)
	labeled := n.labeledRules("rules")
	n.must(n.alice.Create(t.Context(), labeled))
	n.bind("bob", mayWrite, mayConfigure, mayAttach)
	named := mayAttach
	named.ResourceNames = []string{"carols"}
	n.bind("carol", mayWrite, named)
	bob, carol := as(t, n.user("bob")), as(t, n.user("carol"))
	eventually(t, func() bool { return carol.Create(t.Context(), n.anExporter("carols"), client.DryRunAll) == nil })
	eventually(t, func() bool { return bob.Create(t.Context(), n.anExporter("bobs"), client.DryRunAll) == nil })

	finalizer := func(set ...string) client.Patch { return metadata(map[string]any{"finalizers": set}) }
	for _, tc := range []struct {
		what  string
		err   func() error
		stays bool // the stamp
	}{
		{"a label", func() error {
			return n.mallory.Patch(t.Context(), n.exporter, metadata(map[string]any{"labels": map[string]any{"a": "b"}}))
		}, true},
		{"another annotation", func() error { return n.mallory.Patch(t.Context(), n.exporter, annotate("a", "b")) }, true},
		{"a finalizer", func() error { return n.mallory.Patch(t.Context(), n.exporter, finalizer("a.b/c")) }, true},
		{"no finalizer", func() error { return n.mallory.Patch(t.Context(), n.exporter, finalizer()) }, true},
		{"an apply of labels", func() error { return n.apply(n.mallory, n.exporter.Name, `metadata: {labels: {a: c}}`) }, true},
		{"an apply of the same spec", func() error { return n.apply(n.mallory, n.exporter.Name, `spec: {port: 9400}`) }, true},
		{"a ConfigMap without the label", func() error {
			return n.mallory.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: n.named("other")})
		}, true},
		{"a finalizer of labeled rules", func() error { return n.mallory.Patch(t.Context(), labeled, finalizer("a.b/c")) }, true},
		{"no finalizer of labeled rules", func() error { return n.mallory.Patch(t.Context(), labeled, finalizer()) }, true},
		{"no label on rules", func() error {
			return n.mallory.Patch(t.Context(), labeled, metadata(map[string]any{"labels": nil}))
		}, true},
		{"who may exec changes the spec", func() error { return n.alice.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`)) }, true},
		{"who may exec resumes", func() error { return n.alice.Patch(t.Context(), n.exporter, annotate(v1alpha1.AnnotationResume, "2")) }, true},
		{"who may attach writes rules", func() error { return bob.Create(t.Context(), n.labeledRules("bobs")) }, true},
		{"who may attach creates", func() error { return bob.Create(t.Context(), n.anExporter("bobs")) }, true},
		{"who may attach one of that name creates it", func() error { return carol.Create(t.Context(), n.anExporter("carols")) }, true},
		{"who may attach changes the spec", func() error { return bob.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9600}}`)) }, false},
	} {
		if err := tc.err(); err != nil {
			t.Errorf("%s: %v", tc.what, err)
		}
		get(t, n.exporter)
		if got := n.exporter.Annotations[v1alpha1.AnnotationRequester]; (got == n.user("alice")) != tc.stays {
			t.Errorf("%s: the requester is %s", tc.what, got)
		}
	}
	if n.by(carol.Create(t.Context(), n.anExporter("davids"))) {
		t.Error("who may attach one of a name creates another")
	}
}

// The stamp is who made the request, with groups of any name, and nothing in a dry run.
func TestStamp(t *testing.T) {
	t.Parallel()
	n := newTenancy(t, "config/stamp")
	groups := []string{`a"b`, `c\d`, "e,f", "[g]", "ü"}
	dave := as(t, n.user("alice"), groups...)
	n.must(dave.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`), client.DryRunAll))
	if n.forged(n.exporter) {
		t.Error("a dry run stamps")
	}
	n.must(dave.Patch(t.Context(), n.exporter, patch(`{"spec":{"port":9500}}`)))
	get(t, n.exporter)
	var got []string
	if err := json.Unmarshal([]byte(n.exporter.Annotations[v1alpha1.AnnotationRequesterGroups]), &got); err != nil {
		t.Errorf("the groups are %s: %v", n.exporter.Annotations[v1alpha1.AnnotationRequesterGroups], err)
	}
	if diff := cmp.Diff(append(groups, "system:authenticated"), got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}

	// An exporter without annotations that is older than the policy stays without a stamp.
	unstamped := newTenancy(t)
	unstamped.must(unstamped.mallory.Patch(t.Context(), unstamped.exporter, patch(`{"metadata":{"annotations":null}}`)))
	unstamped.enforce("config/stamp")
	unstamped.must(unstamped.mallory.Patch(t.Context(), unstamped.exporter, annotate(v1alpha1.AnnotationRequester, forged)))
	get(t, unstamped.exporter)
	if got := unstamped.exporter.Annotations; len(got) > 0 {
		t.Errorf("it has %v", got)
	}
}

// The status is the only subresource, and takes neither a spec nor annotations along.
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
		t.Errorf("(-want +got):\n%s", diff)
	}
	before := n.exporter.DeepCopy()
	n.must(n.mallory.Status().Patch(t.Context(), n.exporter, patch(
		`{"spec":{"port":1},"metadata":{"annotations":{"`+v1alpha1.AnnotationRequester+`":"x","`+v1alpha1.AnnotationResume+`":"9"}}}`)))
	get(t, n.exporter)
	if diff := cmp.Diff(before.Spec, n.exporter.Spec); diff != "" {
		t.Errorf("spec (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before.Annotations, n.exporter.Annotations); diff != "" {
		t.Errorf("annotations (-before +after):\n%s", diff)
	}
}

// The role of config/rbac gives the verb, and no right that Kubernetes knows.
func TestAttachRole(t *testing.T) {
	t.Parallel()
	n := newTenancy(t, onCreator...)
	bob := as(t, n.user("bob"))
	n.bind("bob", mayWrite)
	n.grant(n.user("bob"), "../../config/rbac/attach_role.yaml")
	eventually(t, func() bool { return bob.Create(t.Context(), n.anExporter("bobs")) == nil })
	var role rbacv1.Role
	role.Namespace, role.Name = n.namespace, "jmx-exporter-operator-attach"
	get(t, &role)
	if diff := cmp.Diff([]rbacv1.PolicyRule{mayAttach}, role.Rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
