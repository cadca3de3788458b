package manifests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// instead writes a script in the place of kubectl and a cluster, and returns what it reads
// from its input.
func instead(t *testing.T, answer string) (kubectl string, input func() string) {
	t.Helper()
	dir := t.TempDir()
	kubectl, file := filepath.Join(dir, "kubectl"), filepath.Join(dir, "input.yaml")
	script := fmt.Sprintf("#!/bin/sh\ncase $* in *'-f -'*) cat >%s\n%s\nesac\n", file, answer)
	if err := os.WriteFile(kubectl, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return kubectl, func() string {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
}

func makes(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", args...)
	command.Dir = root
	out, err := command.CombinedOutput()
	return string(out), err
}

// make deploy deploys the image and the overlay that are named.
func TestDeploy(t *testing.T) {
	const image = "registry.example:5000/team/operator:v1"
	for overlay, mutates := range map[string]bool{"default": true, "default-1.30": false} {
		kubectl, applied := instead(t, "")
		if out, err := makes(t, "deploy", "IMG="+image, "KUBECTL="+kubectl, "OVERLAY="+overlay); err != nil {
			t.Fatalf("%s: %v\n%s", overlay, err, out)
		}
		var images []string
		for _, m := range regexp.MustCompile(`(?m)^ +(?:- )?image: (.+)$`).FindAllStringSubmatch(applied(), -1) {
			images = append(images, m[1])
		}
		if diff := cmp.Diff([]string{image}, images); diff != "" {
			t.Errorf("%s: images (-want +got):\n%s", overlay, diff)
		}
		if got := strings.Contains(applied(), "\nkind: MutatingAdmissionPolicy\n"); got != mutates {
			t.Errorf("%s has a MutatingAdmissionPolicy: got %t, want %t", overlay, got, mutates)
		}
	}
}

// make undeploy deletes what is in the overlay that is named, and succeeds if the cluster
// does not know some of its kinds: kubectl then answers as here.
func TestUndeploy(t *testing.T) {
	const unknown = `echo 'resource mapping not found for name: "a" namespace: "" from "STDIN": no matches for kind "MutatingAdmissionPolicy" in version "v1"
ensure CRDs are installed first' >&2; `
	for name, tc := range map[string]struct {
		answer, overlay string
		mutates, fails  bool
	}{
		"all is deleted":                  {"", "default", true, false},
		"an overlay for older clusters":   {"", "default-1.30", false, false},
		"an unknown kind":                 {unknown + "exit 1", "default", true, false},
		"an unknown kind and a forbidden": {unknown + "echo 'Error from server (Forbidden)' >&2; exit 1", "default", true, true},
		"another failure":                 {"exit 1", "default", true, true},
	} {
		kubectl, deleted := instead(t, tc.answer)
		out, err := makes(t, "undeploy", "KUBECTL="+kubectl, "OVERLAY="+tc.overlay)
		if fails := err != nil; fails != tc.fails {
			t.Errorf("%s: got %v, failure is to be %t\n%s", name, err, tc.fails, out)
		}
		if got := strings.Contains(deleted(), "\nkind: MutatingAdmissionPolicy\n"); got != tc.mutates {
			t.Errorf("%s: a MutatingAdmissionPolicy is deleted: got %t, want %t", name, got, tc.mutates)
		}
	}
}
