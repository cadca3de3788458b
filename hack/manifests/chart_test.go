package manifests

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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
	for name, tc := range renderings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := objects(t, kustomize(t, overlay(t, tc.overlay)))
			ofKustomize(want)
			for _, helm := range helms {
				args := []string{"template", "release", chart, "--namespace=" + cmp.Or(tc.namespace, "jmx-exporter-system"), "--kube-version=1.36.0"}
				if !tc.older {
					args = append(args, stamp)
				}
				for value := range strings.FieldsSeq(tc.values) {
					args = append(args, "--set", value)
				}
				got := objects(t, tool(t, helm, args...))
				ofHelm(got)
				for key := range union(want, got) {
					if diff := gocmp.Diff(want[key], got[key]); diff != "" {
						t.Errorf("%s, %s (-kustomize +chart):\n%s", helm, key, diff)
					}
				}
			}
		})
	}
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
