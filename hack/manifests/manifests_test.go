// Package manifests tests what config and the examples' config ship, without an API
// server: test/integration applies it to one.
package manifests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/envsubst"
	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// Flux replaces variables in manifests that it applies (spec.postBuild); ours have none.
func TestManifestsHaveNoVariables(t *testing.T) {
	for name, text := range shipped(t) {
		substituted, err := envsubst.Eval(text, func(string) (string, bool) { return "", true })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(substituted, "\n")); diff != "" {
			t.Errorf("%s changes when variables are substituted (-before +after):\n%s", name, diff)
		}
	}
}

// shipped returns what kustomize builds of each kustomization, and each sample.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, folder := range []string{"config", "examples/*/config"} {
		for _, kustomization := range files(t, folder, "kustomization.yaml") {
			dir := filepath.Dir(kustomization)
			texts[dir] = build(t, dir)
		}
	}
	for _, sample := range append(files(t, "config/samples", "*.yaml"), files(t, "examples/*/config/samples", "*.yaml")...) {
		texts[sample] = read(t, sample)
	}
	return texts
}

// build returns the objects of a kustomization; those of a component are added to
// config/default.
func build(t *testing.T, dir string) string {
	t.Helper()
	if strings.Contains(read(t, filepath.Join(dir, "kustomization.yaml")), "kind: Component") {
		overlay := t.TempDir()
		to := func(dir string) string {
			rel, err := filepath.Rel(overlay, absolute(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			return rel
		}
		text := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\n", to("config/default"), to(dir))
		if strings.Contains(read(t, "config/default/kustomization.yaml"), "../"+strings.TrimPrefix(dir, "config/")+"\n") {
			text = fmt.Sprintf("resources: [%s]\n", to("config/default"))
		}
		if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		dir = overlay
	}
	command := exec.CommandContext(t.Context(), "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", dir)
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("kustomize build %s: %v", dir, err)
	}
	return string(out)
}

// files returns the files of this name below the folders, relative to the root.
func files(t *testing.T, folders, name string) []string {
	t.Helper()
	var found []string
	tops, err := filepath.Glob(filepath.Join(root, folders))
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range tops {
		err := filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if matched, err := filepath.Match(name, entry.Name()); err != nil || !matched || entry.IsDir() {
				return err
			}
			rel, err := filepath.Rel(root, path)
			found = append(found, rel)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) == 0 {
		t.Fatalf("there is no %s below %s", name, folders)
	}
	slices.Sort(found)
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
