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
	"banzaicloud.com/jmx-exporter-operator/internal/policies"
)

// tenancy is a namespace with its users: mallory may write exporters, pods and
// ConfigMaps, and nothing else; alice may also exec.
type tenancy struct {
	*cluster
	mallory, alice client.Client
	// exporter is alice's, stamped by the test where no policy does.
	exporter *v1alpha1.PrometheusJmxExporter
	// guarded is set where policies see whether the namespace has opted in.
	guarded bool
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
	return newTenancyWithout(t, "", kustomizations...)
}

// newTenancyWithout enforces all of their rules but one, unless that is "".
func newTenancyWithout(t *testing.T, rule string, kustomizations ...string) *tenancy {
	t.Helper()
	c := newCluster(t)
	n := &tenancy{cluster: c, mallory: as(t, c.user("mallory")), alice: as(t, c.user("alice")), guarded: len(kustomizations) > 0 && rule != notOptedIn}
	c.bind("mallory", mayWrite, mayConfigure)
	c.bind("alice", mayWrite, mayConfigure, mayExec)
	for _, kustomization := range kustomizations {
		c.enforceWithout(rule, kustomization)
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
	c.enforceWithout("", kustomization)
}

// enforceWithout enforces all of its rules but one, unless that is "".
func (c *cluster) enforceWithout(rule, kustomization string) {
	c.t.Helper()
	var effective []func() bool
	for _, object := range built(c.t, kustomization) {
		kind, name := object.GetKind(), object.GetName()
		if !strings.Contains(kind, "AdmissionPolicy") {
			continue
		}
		object.SetName(name + "-" + c.namespace)
		if strings.HasSuffix(kind, "Binding") {
			set(c.t, object, object.GetName(), "spec", "policyName")
			set(c.t, object, map[string]any{"kubernetes.io/metadata.name": c.namespace}, "spec", "matchResources", "namespaceSelector", "matchLabels")
		} else if probe := c.probes()[name]; lift(c.t, object, rule) && probe != nil {
			effective = append(effective, probe)
		}
		create[client.Object](c.t, object)
		c.t.Cleanup(func() {
			if err := admin.Delete(context.WithoutCancel(c.t.Context()), object); err != nil {
				c.t.Error(err)
			}
		})
	}
	c.bind("prober", mayWrite, mayConfigure)
	for _, probe := range effective {
		eventually(c.t, probe)
	}
}

// lift has a rule of a policy admit everything, and reports whether the policy has other rules.
func lift(t *testing.T, policy *unstructured.Unstructured, rule string) bool {
	t.Helper()
	validations, ok, err := unstructured.NestedSlice(policy.Object, "spec", "validations")
	if err != nil {
		t.Fatal(err)
	}
	others := !ok // it changes requests
	for i, message := range messagesOf(t, policy) {
		if rule == "" || !strings.Contains(message, rule) {
			others = true
			continue
		}
		validations[i].(map[string]any)["expression"] = "true"
		if err := unstructured.SetNestedSlice(policy.Object, validations, "spec", "validations"); err != nil {
			t.Fatal(err)
		}
	}
	return others
}

// messagesOf returns the messages, or their expressions, of the rules of a policy.
func messagesOf(t *testing.T, policy *unstructured.Unstructured) []string {
	t.Helper()
	validations, _, err := unstructured.NestedSlice(policy.Object, "spec", "validations")
	if err != nil {
		t.Fatal(err)
	}
	var messages []string
	for _, validation := range validations {
		of := validation.(map[string]any)
		message, _ := of["message"].(string)
		expression, _ := of["messageExpression"].(string)
		messages = append(messages, message+expression)
	}
	return messages
}

// probes return whether a policy is effective, whichever of several rules is lifted.
func (c *cluster) probes() map[string]func() bool {
	prober := as(c.t, c.user("prober"))
	probe := func(object client.Object, policy string) func() bool {
		return func() bool { return denied(prober.Create(c.t.Context(), object, client.DryRunAll), policy) }
	}
	wrong := c.anExporter("probe")
	wrong.Annotations = map[string]string{v1alpha1.AnnotationRequester: forged}
	return map[string]func() bool{
		"jmx-exporter-operator-creator": probe(wrong, "jmx-exporter-operator-creator"),
		"jmx-exporter-operator-stamp": func() bool {
			stamped := c.anExporter("probe")
			err := admin.Create(c.t.Context(), stamped, client.DryRunAll)
			return err == nil && stamped.Annotations[v1alpha1.AnnotationRequester] != ""
		},
		// In a namespace that has not opted in.
		"jmx-exporter-operator-namespaces": probe(c.anExporter("probe"), "jmx-exporter-operator-namespaces"),
		"jmx-exporter-operator-rules":      probe(c.labeledRules("probe"), "jmx-exporter-operator-rules"),
	}
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
	if !ok && kustomization == nextStart { // from the code, for hack/mutants
		files, err := policies.Files(policies.Commands{})
		if err != nil {
			t.Fatal(err)
		}
		text, ok = string(files["../next-start/policy.yaml"]), true
	}
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
