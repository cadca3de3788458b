//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// The commands of docs/kubectl-jmx.md have a JVM judge a configuration: whether it accepts
// it, and what the series and the cost of it are.
func TestDocumentedTrial(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("curl is missing: install it; the page's commands use it")
		}
		t.Skip("curl is missing: install it; the page's commands use it. Where CI is set that is a failure")
	}
	page, err := os.ReadFile("../../docs/kubectl-jmx.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sh\n(jmx-attach load .*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no commands with jmx-attach")
	}
	app := jvmtest.Need(t, 17).Start(t, jvmtest.Options{})
	folder := t.TempDir()
	agent, exporter := agentJars(t)
	for name, of := range map[string]string{"jmx-attach": os.Args[0], "agent.jar": agent, "exporter.jar": exporter} {
		content, err := os.ReadFile(of)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	judged := func(config string) (string, error) {
		if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // only stops a script that hangs
		defer cancel()
		script := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", string(block[1]))
		script.Dir, script.WaitDelay = folder, time.Second // its children keep the output open
		script.Env = append(os.Environ(), asHelper+"=1", fmt.Sprintf("PID=%d", app.PID), fmt.Sprintf("PORT=%d", jvmtest.FreePort(t)), "PATH="+folder+":"+os.Getenv("PATH"))
		output, err := script.CombinedOutput()
		return string(output), err
	}
	if got, err := judged("rules: [{pattern: '('}]\n"); err == nil || !strings.Contains(got, "ConfigRejected") {
		t.Errorf("a pattern that is none: got %v:\n%s", err, got)
	}
	got, err := judged("rules: [{pattern: 'java.lang<type=Memory><(\\w+)MemoryUsage>used', name: judged_$1}]\n")
	if err != nil {
		t.Errorf("got %v:\n%s", err, got)
	}
	for _, want := range []string{"\njudged_Heap ", "\njmx_exporter_collection_series 2.0\n", "\njmx_exporter_collection_cpu_seconds ", "\njmx_exporter_collection_rule_cpu_seconds{rule=\"1\"} ", " stopped "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	app.Unharmed()
}
