package integration

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// tenancy is a namespace with its users: mallory may write exporters, pods and
// ConfigMaps, and nothing else; alice may also exec.
type tenancy struct {
	*cluster
	mallory, alice client.Client
	// exporter is alice's, stamped by the test where no policy does.
	exporter *v1alpha1.PrometheusJmxExporter
	guarded  bool
}

var (
	mayWrite = rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"prometheusjmxexporters", "prometheusjmxexporters/status"},
		Verbs: []string{"get", "create", "update", "patch"},
	}
	mayConfigure = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update", "patch"}}
	mayExec      = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: []string{"create"}}
	mayAttach    = rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"prometheusjmxexporters"}, Verbs: []string{"attach"}}
)

// newTenancy enforces the admission policies of the kustomizations.
func newTenancy(t *testing.T, kustomizations ...string) *tenancy {
	t.Helper()
	c := newCluster(t)
	n := &tenancy{cluster: c, mallory: as(t, c.user("mallory")), alice: as(t, c.user("alice")), guarded: len(kustomizations) > 0}
	c.bind("mallory", mayWrite, mayConfigure)
	c.bind("alice", mayWrite, mayConfigure, mayExec)
	for _, kustomization := range kustomizations {
		c.enforce(kustomization)
	}
	n.optIn("enabled")
	n.exporter = c.anExporter("alices")
	n.exporter.Annotations = map[string]string{v1alpha1.AnnotationRequester: c.user("alice"), v1alpha1.AnnotationRequesterGroups: `["system:authenticated"]`, v1alpha1.AnnotationResume: "1"}
	eventually(t, func() bool { return n.alice.Create(t.Context(), n.exporter) == nil })
	return n
}

// user returns the name of a user that is unique to this namespace.
func (c *cluster) user(name string) string { return name + "@" + c.namespace }

// impersonated returns a configuration that impersonates a user.
func impersonated(user string, groups ...string) *rest.Config {
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return impersonating
}

// as returns a client of a user.
func as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	c, err := newClient(impersonated(user, groups...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bind grants a user rights in the namespace.
func (c *cluster) bind(name string, rules ...rbacv1.PolicyRule) *rbacv1.RoleBinding {
	c.t.Helper()
	return c.bindUser(c.user(name), rules...)
}

func (c *cluster) bindUser(user string, rules ...rbacv1.PolicyRule) *rbacv1.RoleBinding {
	c.t.Helper()
	meta := c.named("")
	meta.GenerateName = "role-"
	role := create(c.t, &rbacv1.Role{ObjectMeta: meta, Rules: rules})
	return create(c.t, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
}

// enforce enforces the admission policies of a kustomization in the namespace of the
// test only, and waits until they are effective.
func (c *cluster) enforce(kustomization string) {
	c.t.Helper()
	for _, object := range built(c.t, kustomization) {
		kind := object.GetKind()
		if !strings.Contains(kind, "AdmissionPolicy") {
			continue
		}
		object.SetName(object.GetName() + "-" + c.namespace)
		if strings.HasSuffix(kind, "Binding") {
			set(c.t, object, object.GetName(), "spec", "policyName")
			set(c.t, object, map[string]any{"kubernetes.io/metadata.name": c.namespace}, "spec", "matchResources", "namespaceSelector", "matchLabels")
		}
		create[client.Object](c.t, object)
		c.t.Cleanup(func() {
			if err := admin.Delete(context.WithoutCancel(c.t.Context()), object); err != nil {
				c.t.Error(err)
			}
		})
	}
	c.bind("prober", mayWrite, mayConfigure)
	enforced := map[string]func() bool{"policies": c.creatorEnforced, "stamp": c.stampEnforced, "tenants": c.tenantsEnforced}[filepath.Base(kustomization)]
	eventually(c.t, enforced)
}

func (c *cluster) creatorEnforced() bool {
	prober := as(c.t, c.user("prober"))
	return denied(prober.Create(c.t.Context(), c.anExporter("probe"), client.DryRunAll), "jmx-exporter-operator-creator")
}

func (c *cluster) stampEnforced() bool {
	probe := c.anExporter("probe")
	err := admin.Create(c.t.Context(), probe, client.DryRunAll)
	return err == nil && probe.Annotations[v1alpha1.AnnotationRequester] != ""
}

// tenantsEnforced probes in a namespace that has not opted in.
func (c *cluster) tenantsEnforced() bool {
	prober := as(c.t, c.user("prober"))
	return denied(prober.Create(c.t.Context(), c.anExporter("probe"), client.DryRunAll), "jmx-exporter-operator-namespaces") &&
		denied(prober.Create(c.t.Context(), c.labeledRules("probe"), client.DryRunAll), "jmx-exporter-operator-rules")
}

// labeledRules returns a ConfigMap as config/tenants requires it.
func (c *cluster) labeledRules(name string) *corev1.ConfigMap {
	meta := c.named(name)
	meta.Labels = map[string]string{v1alpha1.LabelRules: ""}
	return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"config.yaml": rules}}
}

// optIn labels the namespace for config/tenants; nil removes the label.
func (c *cluster) optIn(value any) {
	c.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	if err := admin.Patch(c.t.Context(), namespace, metadata(map[string]any{"labels": map[string]any{"banzaicloud.com/jmx-exporter": value}})); err != nil {
		c.t.Fatal(err)
	}
}

// denied reports whether an admission policy denied a request.
func denied(err error, policy string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), policy)
}

func set(t *testing.T, object *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(object.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

// built returns the objects of a kustomization, built by kustomize once.
func built(t *testing.T, kustomization string) []*unstructured.Unstructured {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	text, ok := builds.of[kustomization]
	if !ok {
		command := exec.CommandContext(t.Context(), "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", kustomization)
		command.Dir = filepath.Join("..", "..")
		out, err := command.Output()
		if err != nil {
			t.Fatalf("cannot build %s: %v", kustomization, err)
		}
		text = string(out)
		builds.of[kustomization] = text
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err != nil {
			return objects
		}
		objects = append(objects, object)
	}
}

// builds are the kustomizations that were built.
var builds = struct {
	sync.Mutex
	of map[string]string
}{of: map[string]string{}}

// patch returns a merge patch of this text.
func patch(format string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(format))
}

// annotate returns a patch that sets an annotation; nil removes it.
func annotate(name string, value any) client.Patch {
	return metadata(map[string]any{"annotations": map[string]any{name: value}})
}

// metadata returns a merge patch of metadata.
func metadata(values map[string]any) client.Patch {
	data, err := json.Marshal(map[string]any{"metadata": values})
	if err != nil {
		panic(err)
	}
	return client.RawPatch("application/merge-patch+json", data)
}
