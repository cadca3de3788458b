package integration

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The commands of docs/configuration.md print the configuration of a ConfigMap that was deleted, byte
// by byte, from the ControllerRevision of the exporter's revision.
func TestDocumentedRestore(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n(kubectl [^\n]*get controllerrevisions [^\n]*)\n(kubectl [^`]*)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no commands with controllerrevisions")
	}
	s, o := annotated(t)
	s.configure(changed)
	o.settle()
	remove(t, &corev1.ConfigMap{ObjectMeta: s.named("rules")})
	o.settle()
	run := func(script []byte) string {
		command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", string(script))
		command.Stderr = os.Stderr
		command.Env = append(os.Environ(), "PATH="+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"),
			"KUBECONFIG="+kubeconfig(t, config), "NAMESPACE="+s.namespace, "EXPORTER="+s.exporter.Name)
		printed, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		return string(printed)
	}
	run(block[1])
	if got := run(block[2]); got != changed {
		t.Errorf("the commands print %q, want %q", got, changed)
	}
}
