// Package manifests tests what config and the examples' config ship, without an API
// server: test/integration applies it to one.
package manifests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// OpenShift runs a container as a user of the namespace's own range, and refuses another
// one (restricted-v2): the user comes from the image. The kubelet can only check that it is
// not root if the image names it by number.
func TestManifestsNameNoUser(t *testing.T) {
	found := 0
	for name, text := range shipped(t) {
		for document := range strings.SplitSeq(text, "\n---\n") {
			if !strings.Contains("\n"+document, "\nkind: Deployment\n") {
				continue
			}
			found++
			for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
				if strings.Contains(document, field+":") {
					t.Errorf("a Deployment in %s has %s", name, field)
				}
			}
			if !strings.Contains(document, "runAsNonRoot: true") {
				t.Errorf("a Deployment in %s may run as root", name)
			}
		}
	}
	if found == 0 {
		t.Error("no Deployment was found")
	}
	for _, file := range files(t, ".", "Dockerfile") {
		if builds := regexp.MustCompile(`(?m)^ENTRYPOINT \["/manager"\]$`).MatchString(read(t, file)); builds && !strings.Contains(read(t, file), "\nUSER 65532:65532\n") {
			t.Errorf("%s does not name its user by number", file)
		}
	}
	for _, file := range []string{"hack/offline/recipes.sh", "hack/offline/examples.sh", "hack/release/release"} {
		for line := range strings.SplitSeq(read(t, file), "\n") {
			if strings.Contains(line, "-entrypoint /manager") && !strings.Contains(line, "-user 65532:65532 ") {
				t.Errorf("%s does not name the user of an image by number: %s", file, line)
			}
		}
	}
}

// config/default-1.30 is config/default without the kinds of Kubernetes 1.36.
func TestDefaultForOlderClusters(t *testing.T) {
	objects := func(dir string) []string {
		return slices.DeleteFunc(strings.Split(strings.TrimSpace(build(t, dir)), "\n---\n"), func(document string) bool {
			return dir == "config/default" && strings.Contains(document, "\nkind: MutatingAdmissionPolicy")
		})
	}
	if diff := cmp.Diff(objects("config/default"), objects("config/default-1.30")); diff != "" {
		t.Errorf("(-config/default +config/default-1.30):\n%s", diff)
	}
}

// shipped returns what kustomize builds of each kustomization, and each sample.
func shipped(t *testing.T) map[string]string {
	t.Helper()
	if texts != nil {
		return texts
	}
	built := map[string]string{}
	for _, folder := range []string{"config", "examples/*/config"} {
		for _, kustomization := range files(t, folder, "kustomization.yaml") {
			dir := filepath.Dir(kustomization)
			if inDefault(t, dir) {
				continue
			}
			built[dir] = build(t, dir)
		}
	}
	for _, sample := range append(files(t, "config/samples", "*.yaml"), files(t, "examples/*/config/samples", "*.yaml")...) {
		built[sample] = read(t, sample)
	}
	texts = built
	return texts
}

// texts are those of shipped, once all are built.
var texts map[string]string

// build returns the objects of a kustomization. A component is added to config/default,
// after the component that it is in.
func build(t *testing.T, dir string) string {
	t.Helper()
	if isComponent(t, dir) {
		overlay := t.TempDir()
		to := func(dir string) string {
			rel, err := filepath.Rel(overlay, absolute(t, dir))
			if err != nil {
				t.Fatal(err)
			}
			return rel
		}
		components := []string{to(dir)}
		if outer := filepath.Dir(dir); isComponent(t, outer) && !inDefault(t, outer) {
			components = []string{to(outer), to(dir)}
		}
		text := fmt.Sprintf("resources: [%s]\ncomponents: [%s]\n", to("config/default"), strings.Join(components, ", "))
		if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		dir = overlay
	}
	return kustomize(t, dir)
}

func kustomize(t *testing.T, dir string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "tool", "-modfile=hack/tools/go.mod", "kustomize", "build", dir)
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("kustomize build %s: %v", dir, err)
	}
	return string(out)
}

func isComponent(t *testing.T, dir string) bool {
	t.Helper()
	file := filepath.Join(dir, "kustomization.yaml")
	_, err := os.Stat(filepath.Join(root, file))
	return err == nil && strings.Contains(read(t, file), "kind: Component")
}

// inDefault reports whether a folder is a component of config/default.
func inDefault(t *testing.T, dir string) bool {
	t.Helper()
	return isComponent(t, dir) && strings.Contains(read(t, "config/default/kustomization.yaml"), "../"+filepath.Base(dir)+"\n")
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
