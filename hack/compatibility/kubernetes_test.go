//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What users read of the supported versions is what is tested.
func TestSupportedKubernetes(t *testing.T) {
	servers, err := minors("../..")
	if err != nil {
		t.Fatal(err)
	}
	oldest, newest := minor(servers[0]), minor(servers[len(servers)-1])
	for file, says := range map[string]string{
		"docs/releases.md": oldest + " to " + newest,
		"CHANGELOG.md":     oldest + " to " + newest,
		"charts/jmx-exporter-operator/Chart.yaml":          `">=` + oldest + `.0-0"`,
		"config/default-" + oldest + "/kustomization.yaml": "Kubernetes " + oldest,
	} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), says) {
			t.Errorf("%s does not say %q", file, says)
		}
	}
}

// A row has the result of its version, and none of another patch version.
func TestUpdateKubernetes(t *testing.T) {
	dir := t.TempDir()
	events := []string{
		`{"Action":"start"}`, `{"Action":"pass","Test":"TestA"}`, `{"Action":"attr","Test":"TestKubernetes","Key":"kubernetes","Value":"1.30.14"}`,
		`{"Action":"pass","Test":"TestKubernetes"}`, `{"Action":"pass"}`,
		`{"Action":"start"}`, `{"Action":"attr","Test":"TestKubernetes","Key":"kubernetes","Value":"1.33.1"}`,
		`{"Action":"pass","Test":"TestKubernetes"}`, `{"Action":"fail","Test":"TestA"}`, `{"Action":"fail"}`,
	}
	nodes := []string{
		`{"Action":"start","Package":"e2e"}`, `{"Action":"start","Package":"kinds"}`,
		`{"Action":"attr","Package":"e2e","Test":"TestKubernetes","Key":"kubernetes","Value":"1.33.1"}`,
		`{"Action":"pass","Package":"kinds","Test":"TestB"}`, `{"Action":"pass","Package":"kinds"}`,
		`{"Action":"pass","Package":"e2e","Test":"TestKubernetes"}`, `{"Action":"pass","Package":"e2e"}`,
	}
	for name, lines := range map[string][]string{"kubernetes.json": events, "demo.json": nodes} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := kubernetesHeader + "| 1.31 | 1.31.2 | 7 passed | 3 passed |\n| 1.32 | 1.32.2 | 8 passed | 4 passed |\n"
	got, err := servers{"1.30.14", "1.31.2", "1.32.3", "1.33.1"}.update(before, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := kubernetesHeader + `| 1.30 | 1.30.14 | 2 passed | - |
| 1.31 | 1.31.2 | 7 passed | 3 passed |
| 1.32 | 1.32.3 | - | - |
| 1.33 | 1.33.1 | **1 failed**, 1 passed | 1 passed |
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
