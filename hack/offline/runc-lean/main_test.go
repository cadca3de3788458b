package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestOption(t *testing.T) {
	for _, args := range [][]string{
		{"runc", "create", "--bundle", "/b", "id"},
		{"runc", "create", "--bundle=/b", "id"},
		{"runc", "create", "-b", "/b", "id"},
	} {
		if got := option(args, "--bundle", "-b"); got != "/b" {
			t.Errorf("%v: bundle %q", args, got)
		}
	}
	if got := option([]string{"runc", "state", "id"}, "--bundle", "-b"); got != "" {
		t.Errorf("a bundle %q where none is", got)
	}
}

func TestLean(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	const spec = `{"process":{"oomScoreAdj":-998,"rlimits":[{"type":"RLIMIT_NOFILE"}],"args":["sh"],
		"capabilities":{"bounding":["CAP_CHOWN","CAP_SYS_RESOURCE"],"effective":["CAP_SYS_RESOURCE"]}},
		"linux":{"resources":{"memory":{"limit":9223372036854771712}}}}`
	if err := os.WriteFile(file, []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(file, func(spec map[string]any) { lean(spec["process"]) }); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"linux":{"resources":{"memory":{"limit":9223372036854771712}}},"process":{"args":["sh"],"capabilities":{"bounding":["CAP_CHOWN"],"effective":[]}}}`
	if !json.Valid(got) || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRewriteLeavesAMissingFileToRunc(t *testing.T) {
	if err := rewrite(filepath.Join(t.TempDir(), "none"), func(map[string]any) { t.Error("called") }); err != nil {
		t.Error(err)
	}
}
