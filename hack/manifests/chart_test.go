package manifests

import (
	"bytes"
	stdcmp "cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	chart = "charts/jmx-exporter-operator"
	stamp = "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
)

// helms are the versions of Helm that the chart is for.
var helms = []string{"helm.sh/helm/v4/cmd/helm", "helm.sh/helm/v3/cmd/helm"}

// The chart renders what kustomize builds of the overlay that is meant by the same values.
func TestChartRendersConfig(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	withComponent := func(component string) map[string]string {
		return map[string]string{".": "namespace: jmx-exporter-system\nresources: [CONFIG/default]\ncomponents: [CONFIG/" + component + "]"}
	}
	for name, tc := range map[string]struct {
		values    []string
		namespace string
		overlay   map[string]string // kustomizations by folder
		// older is a cluster before Kubernetes 1.36.
		older bool
	}{
		"default":                 {overlay: map[string]string{".": "resources: [CONFIG/default]"}},
		"before Kubernetes 1.36":  {overlay: map[string]string{".": "resources: [CONFIG/default-1.30]"}, older: true},
		"without the stamp":       {values: []string{"stamp.enabled=false"}, overlay: map[string]string{".": "resources: [CONFIG/default-1.30]"}},
		"exec":                    {values: []string{"transport=Exec"}, overlay: map[string]string{".": "resources: [CONFIG/transport-exec]"}},
		"ephemeral containers":    {values: []string{"transport=EphemeralContainer"}, overlay: map[string]string{".": "resources: [CONFIG/transport-door]"}},
		"tenants":                 {values: []string{"tenants.enabled=true"}, overlay: withComponent("tenants")},
		"network policy":          {values: []string{"networkPolicy.enabled=true"}, overlay: withComponent("network-policy")},
		"security of endpoints":   {values: []string{"endpointSecurity.enabled=true"}, overlay: withComponent("endpoint-security")},
		"logs":                    {values: []string{"logs.enabled=true"}, overlay: withComponent("logs")},
		"an image by its digest":  {values: []string{"image.repository=registry.example:5000/operator", "image.digest=" + digest}, overlay: map[string]string{".": "resources: [CONFIG/default]\nimages: [{name: jmx-exporter-operator, newName: 'registry.example:5000/operator', digest: '" + digest + "'}]"}},
		"an image by its tag":     {values: []string{"image.tag=v1"}, overlay: map[string]string{".": "resources: [CONFIG/default]\nimages: [{name: jmx-exporter-operator, newTag: v1}]"}},
		"without policies":        {values: []string{"policies.enabled=false"}, overlay: map[string]string{".": "namespace: jmx-exporter-system\nresources: [CONFIG/crd, CONFIG/rbac, CONFIG/users, CONFIG/manager]\ncomponents: [CONFIG/ephemeral-containers, CONFIG/metrics-auth, CONFIG/stamp]"}},
		"another namespace":       {namespace: "monitoring", overlay: map[string]string{".": "namespace: monitoring\nresources: [CONFIG/default]\ntransformers: [CONFIG/policies/installation]"}},
		"some namespaces":         {namespace: "ops", values: []string{"namespaces={ops,shop,bank}", "metrics.secure=false", "metrics.port=8080"}, overlay: someNamespaces},
		"the port of the metrics": {values: []string{"metrics.port=9443"}, overlay: patched("{op: replace, path: ARGS, value: ['--metrics-bind-address=:9443']}", "{op: replace, path: PORT/containerPort, value: 9443}")},
		"more flags":              {values: []string{"extraArgs={--max-execs=8}"}, overlay: patched("{op: add, path: ARGS/-, value: --max-execs=8}")},
		"several replicas":        {values: []string{"replicas=2"}, overlay: patched("{op: replace, path: /spec/replicas, value: 2}")},
		"secrets to pull with":    {values: []string{"imagePullSecrets[0].name=registry"}, overlay: patched("{op: add, path: /spec/template/spec/imagePullSecrets, value: [{name: registry}]}")},
		"where the operator runs": {values: []string{"nodeSelector.pool=infra", "priorityClassName=system-cluster-critical"}, overlay: patched("{op: add, path: /spec/template/spec/nodeSelector, value: {pool: infra}}", "{op: add, path: /spec/template/spec/priorityClassName, value: system-cluster-critical}")},
		"metrics in plain HTTP":   {values: []string{"metrics.secure=false"}, overlay: withoutMetricsAuth("{op: add, path: ARGS/-, value: --metrics-secure=false}")},
		"without metrics":         {values: []string{"metrics.enabled=false"}, overlay: withoutMetricsAuth("{op: add, path: ARGS/-, value: --metrics-bind-address=0}", "{op: remove, path: PORT}")},
		"the release of another one": {values: []string{"crds.enabled=false", "sharedObjects.enabled=false"}, overlay: map[string]string{".": `resources: [CONFIG/default]
patches: [` + remove("CustomResourceDefinition", ".*") + `, ` + remove("ClusterRole", "jmx-exporter-(view|edit)") + `, ` +
			remove("ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding", "jmx-exporter-operator-creator") + `, ` + remove("MutatingAdmissionPolicy|MutatingAdmissionPolicyBinding", ".*") + `]`}},
		"monitors, rules and dashboards": {values: []string{"monitors.enabled=true", "rules.enabled=true", "dashboards.enabled=true"}, overlay: withComponent("prometheus, CONFIG/grafana")},
		"a PodMonitor":                   {values: []string{"monitors.enabled=true", "monitors.kind=PodMonitor", "rules.enabled=true"}, overlay: withComponent("prometheus, CONFIG/prometheus/podmonitor")},
		"monitors of some namespaces":    {namespace: "ops", values: []string{"namespaces={ops,shop,bank}", "metrics.secure=false", "metrics.port=8080", "monitors.enabled=true", "rules.enabled=true"}, overlay: monitored(someNamespaces)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := objects(t, kustomize(t, overlay(t, tc.overlay)))
			ofKustomize(want)
			for _, helm := range helms {
				args := []string{"template", "release", chart, "--namespace=" + stdcmp.Or(tc.namespace, "jmx-exporter-system"), "--kube-version=1.36.0"}
				if !tc.older {
					args = append(args, stamp)
				}
				for _, value := range tc.values {
					args = append(args, "--set", value)
				}
				got := objects(t, tool(t, helm, args...))
				ofHelm(got)
				for key := range union(want, got) {
					if diff := cmp.Diff(want[key], got[key]); diff != "" {
						t.Errorf("%s, %s (-kustomize +chart):\n%s", helm, key, diff)
					}
				}
			}
		})
	}
}

// someNamespaces is the overlay of docs/security.md, "Some namespaces".
var someNamespaces = map[string]string{
	".": "resources: [ops, shop, bank]",
	"ops": `namespace: ops
resources: [CONFIG/namespaced]
patches:
  - target: {kind: Deployment}
    patch: |
      - {op: replace, path: /spec/template/spec/containers/0/args/0, value: "--namespace=ops,shop,bank"}
  - target: {kind: ValidatingAdmissionPolicyBinding, labelSelector: banzaicloud.com/operator-records=true}
    patch: |
      - {op: replace, path: /spec/matchResources/namespaceSelector, value: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [ops, shop, bank]}]}}
transformers: [CONFIG/policies/installation]`,
	"shop": rightsIn("shop"),
	"bank": rightsIn("bank"),
}

// monitored adds config/prometheus to someNamespaces.
func monitored(overlay map[string]string) map[string]string {
	overlay = maps.Clone(overlay)
	overlay["ops"] = strings.Replace(overlay["ops"], "patches:", `components: [CONFIG/prometheus, CONFIG/prometheus/namespaced]
patches:
  - target: {kind: ServiceMonitor, name: jmx-exporters}
    patch: |
      - {op: add, path: /spec/namespaceSelector, value: {matchNames: [ops, shop, bank]}}`, 1)
	return overlay
}

func rightsIn(namespace string) string {
	return "namespace: " + namespace + `
resources: [CONFIG/namespaced/rights]
patches:
  - target: {kind: RoleBinding}
    patch: "- {op: add, path: /subjects/0/namespace, value: ops}"`
}

// patched returns an overlay of config/default whose Deployment has other fields.
func patched(operations ...string) map[string]string {
	return map[string]string{".": "resources: [CONFIG/default]\npatches: [" + deployment(operations) + "]"}
}

func withoutMetricsAuth(operations ...string) map[string]string {
	return map[string]string{".": "resources: [CONFIG/default]\npatches: [" + deployment(operations) + ", " + remove("ClusterRole|ClusterRoleBinding", "jmx-exporter-operator-metrics-.*") + "]"}
}

func deployment(operations []string) string {
	const container = "/spec/template/spec/containers/0"
	patch := strings.NewReplacer("ARGS", container+"/args", "PORT", container+"/ports/0").Replace("- " + strings.Join(operations, "\n- "))
	return fmt.Sprintf("{target: {kind: Deployment}, patch: %q}", patch)
}

func remove(kind, name string) string {
	return fmt.Sprintf("{target: {kind: %s, name: %s}, patch: %q}", kind, name, "$patch: delete\napiVersion: v1\nkind: any\nmetadata: {name: any}\n")
}

// overlay writes kustomizations next to config, and returns their folder.
func overlay(t *testing.T, kustomizations map[string]string) string {
	t.Helper()
	top := t.TempDir()
	for folder, text := range kustomizations {
		dir := filepath.Join(top, folder)
		config, err := filepath.Rel(dir, absolute(t, "config"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(text, "CONFIG", config)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// ofKustomize removes what kustomize has and the chart has not: the namespace of the
// release, which Helm creates, and namespaces of kinds that kustomize does not know.
func ofKustomize(objects map[string]object) {
	maps.DeleteFunc(objects, func(key string, of object) bool {
		if strings.HasPrefix(key, "MutatingAdmissionPolicy") {
			delete(of["metadata"].(object), "namespace")
		}
		return strings.HasPrefix(key, "Namespace ")
	})
}

// ofHelm removes what only objects of a release have.
func ofHelm(objects map[string]object) {
	for _, of := range objects {
		metadata := of["metadata"].(object)
		for field, keys := range map[string][]string{
			"labels":      {"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"},
			"annotations": {"helm.sh/resource-policy"},
		} {
			values, _ := metadata[field].(object)
			for _, key := range keys {
				delete(values, key)
			}
			if len(values) == 0 {
				delete(metadata, field)
			}
		}
	}
}

func union(a, b map[string]object) map[string]object {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

type object = map[string]any

// objects returns those of a manifest by kind, namespace and name.
func objects(t *testing.T, manifest string) map[string]object {
	t.Helper()
	found := map[string]object{}
	for document := range strings.SplitSeq("\n"+manifest, "\n---\n") {
		var of object
		if err := yaml.Unmarshal([]byte(document), &of); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if of == nil {
			continue
		}
		metadata := of["metadata"].(object)
		kind, namespace := of["kind"].(string), ""
		if !strings.HasPrefix(kind, "MutatingAdmissionPolicy") { // see ofKustomize
			namespace, _ = metadata["namespace"].(string)
		}
		key := strings.Join([]string{kind, namespace, metadata["name"].(string)}, " ")
		if found[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		found[key] = of
	}
	return found
}

// The chart has no fault that helm lint knows, and its own tests pass.
func TestChartsOwnTests(t *testing.T) {
	for _, helm := range helms {
		tool(t, helm, "lint", "--strict", chart)
	}
	t.Log(tool(t, "helm-unittest", "--strict", chart))
}

// tool runs a tool of hack/tools/helm. Compiled as by make, so that it is once.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=hack/tools/helm/go.mod", name}, args...)...)
	var out, err bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = root, &out, &err
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if failed := command.Run(); failed != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), failed, out.String(), err.String())
	}
	return out.String()
}
