package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// charts renders the chart with values, each as an installation.
func charts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, values := range [][]string{
		{},
		{"transport=Exec"},
		{"transport=EphemeralContainer"},
		{"transport=Node", "node.enabled=true"},
		{"tenants.enabled=true", "ruleSets.chart-shop={kafka,solr}"},
		{"namespaces={chart-ops,chart-shop}", "metrics.secure=false"},
		{"image.repository=registry.example:5000/operator", "image.tag=v1", "endpointSecurity.enabled=true", "logs.enabled=true", "networkPolicy.enabled=true", "replicas=2", "podDisruptionBudget.enabled=true"},
		{"dashboards.enabled=true", "dashboards.applications={cassandra,kafka,tomcat}", "ruleSets.chart-shop={activemq,cassandra,flink,kafka,solr,spring-boot,tomcat,zookeeper}"},
	} {
		name := strings.TrimSpace("chart " + strings.Join(values, " "))
		found[name] = rendered(t, name, values...)
	}
	return found
}

// rendered returns what the chart renders as built does what kustomize builds.
func rendered(t *testing.T, name string, values ...string) string {
	t.Helper()
	args := []string{"template", "release", "charts/jmx-exporter-operator", "--namespace=chart-ops", "--kube-version=" + serverVersion(t)}
	if servesStamp() {
		args = append(args, "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")
	}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	text := helm(t, "v4", args...)
	builds.Lock()
	defer builds.Unlock()
	builds.of[name] = text
	return name
}

// Without the policies, too, the API server accepts every object.
func TestChartWithoutPolicies(t *testing.T) {
	i := &installation{contained: &contained{cluster: newCluster(t)}}
	i.apply(rendered(t, "chart policies.enabled=false", "policies.enabled=false", "stamp.enabled=false"))
	defer i.remove()
	if slices.ContainsFunc(i.objects, func(o *unstructured.Unstructured) bool { return strings.Contains(o.GetKind(), "AdmissionPolicy") }) {
		t.Error("there is a policy")
	}
	if err := i.execs("app", "id"); deniedByAny(err) {
		t.Errorf("exec without policies: %v", err)
	}
}

// A release is installed where the kinds are already, upgraded, rolled back and removed;
// the kinds stay. Not parallel: some policies are for the whole cluster.
func TestChartReleases(t *testing.T) {
	for version, adopt := range map[string][]string{
		"v3": {"--take-ownership"},
		"v4": {"--take-ownership", "--force-conflicts"}, // applies on the server's side
	} {
		t.Run(version, func(t *testing.T) {
			newCluster(t).liftedAtTheEnd()
			namespace := "release-" + version
			run := func(args ...string) {
				t.Helper()
				helm(t, version, append(args, "--namespace="+namespace, "--kubeconfig="+adminKubeconfig(t))...)
			}
			image := func() string {
				t.Helper()
				deployment := object("apps/v1", "Deployment", namespace, "jmx-exporter-operator")
				if !get(t, deployment) {
					return ""
				}
				containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
				return containers[0].(map[string]any)["image"].(string)
			}
			for _, step := range []struct {
				args  []string
				image string
			}{
				{append([]string{"install", "jmx", "charts/jmx-exporter-operator", "--create-namespace", "--set=ruleSets." + namespace + "={kafka}"}, adopt...), "jmx-exporter-operator:dev"},
				{[]string{"upgrade", "jmx", "charts/jmx-exporter-operator", "--set=image.tag=next,transport=EphemeralContainer"}, "jmx-exporter-operator:next"},
				{[]string{"rollback", "jmx", "1"}, "jmx-exporter-operator:dev"},
				{[]string{"uninstall", "jmx"}, ""},
			} {
				run(step.args...)
				if got := image(); got != step.image {
					t.Errorf("image after helm %s: got %q, want %q", step.args[0], got, step.image)
				}
				rules := object("v1", "ConfigMap", namespace, "jmx-rules-kafka")
				if got := get(t, rules); got != (step.args[0] == "install" || step.args[0] == "rollback") {
					t.Errorf("the rule set after helm %s: got %t", step.args[0], got)
				}
				doorOnly := object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "", "jmx-exporter-operator-door-only."+namespace)
				if got := get(t, doorOnly); got != (step.args[0] == "upgrade") {
					t.Errorf("the policy of the transport EphemeralContainer after helm %s: got %t", step.args[0], got)
				}
			}
			if left := releaseObjects(t); len(left) > 0 {
				t.Errorf("after the release was removed: got %q, want only the kinds", left)
			}
			if !get(t, object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "prometheusjmxexporters.banzaicloud.com")) {
				t.Error("the kinds were removed")
			}
		})
	}
}

// releaseObjects returns the objects of releases, but for the kinds.
func releaseObjects(t *testing.T) []string {
	t.Helper()
	var found []string
	for kind, group := range map[string]string{
		"ServiceAccount": "v1", "ConfigMap": "v1", "Deployment": "apps/v1",
		"ClusterRole": "rbac.authorization.k8s.io/v1", "ClusterRoleBinding": "rbac.authorization.k8s.io/v1", "Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1",
		"ValidatingAdmissionPolicy": "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding": "admissionregistration.k8s.io/v1",
		"MutatingAdmissionPolicy": "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding": "admissionregistration.k8s.io/v1",
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(group, kind+"List"))
		if err := admin.List(t.Context(), list, client.MatchingLabels{"app.kubernetes.io/instance": "jmx"}); err != nil && !meta.IsNoMatchError(err) {
			t.Fatal(err)
		}
		for _, of := range list.Items {
			found = append(found, of.GetKind()+" "+of.GetName())
		}
	}
	return found
}

func object(version, kind, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}}}
}

// adminKubeconfig writes a kubeconfig of the administrator, and returns its path.
func adminKubeconfig(t *testing.T) string {
	t.Helper()
	certificates.Lock()
	defer certificates.Unlock()
	user, err := environment.AddUser(envtest.User{Name: "installer", Groups: []string{"system:masters"}}, config)
	if err != nil {
		t.Fatal(err)
	}
	content, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// helm runs a version of Helm. Compiled as by make, so that it is once.
func helm(t *testing.T, version string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=hack/tools/helm/go.mod", "helm.sh/helm/" + version + "/cmd/helm"}, args...)...)
	var out, err bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = filepath.Join("..", ".."), &out, &err
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if failed := command.Run(); failed != nil {
		t.Fatalf("helm %s: %v\n%s%s", strings.Join(args, " "), failed, out.String(), err.String())
	}
	return out.String()
}
