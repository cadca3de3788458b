package main

import (
	"fmt"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/power"
)

// docs/troubleshooting.md has the words and the flag of each power over the node, and no
// others; the capabilities and paths that decide; docs/operations.md has the flags.
func TestPowers(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/troubleshooting.md"), "### PodProtected\n")
	section, _, _ = strings.Cut(section, "\n### ")
	expect := func(text string) {
		t.Helper()
		if !strings.Contains(section, text) {
			t.Errorf("section PodProtected of docs/troubleshooting.md lacks:\n%s", text)
		}
	}
	var rows strings.Builder
	for _, p := range pod.Powers() {
		fmt.Fprintf(&rows, "| %s | `--%s` |\n", p.Words, p.Flag)
		if flags := read(t, "docs/operations.md"); !strings.Contains(flags, "`--"+p.Flag+"`") {
			t.Errorf("docs/operations.md says nothing of `--%s`", p.Flag)
		}
	}
	expect("| --- | --- |\n" + rows.String() + "\n")
	expect(": " + list(power.OrdinaryCapabilities()) + ".\n")
	for access, refused := range map[power.Access]string{
		power.AccessRead: "also if mounted read-only", power.AccessWrite: "unless mounted read-only", power.AccessNone: "never",
	} {
		var paths []string
		for _, p := range power.SystemPaths() {
			if p.Access == access {
				paths = append(paths, p.Path)
			}
		}
		expect("\n| " + list(paths) + " | " + refused + " |\n")
	}
}

func list(values []string) string { return "`" + strings.Join(values, "`, `") + "`" }
