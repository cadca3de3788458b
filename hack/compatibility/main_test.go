//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

// The table has a row for each version that is tested with, whichever its builds are.
func TestTableIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), begin)
	table, _, _ := strings.Cut(rest, end)
	var got []int
	for major := range parseTable(table) {
		got = append(got, major)
	}
	slices.Sort(got)
	if diff := cmp.Diff(jvmtest.Majors, got); diff != "" {
		t.Errorf("versions (-tested +in %s):\n%s", page, diff)
	}
}

// What a suite left replaces its column, and what was not run stays.
func TestWrite(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{
		page: "# Java\n\n" + begin + header +
			"| 8 | 1.8.0_1 | 2 passed | - | - |\n| 25 | 25+1 | 1 passed | 7 passed | attach, scrape, reload, move, unload |\n" + end + "\nMore.\n",
		results + "/unit.json": `{"Action":"attr","Test":"TestLife/jdk26","Key":"java","Value":"26+1"}
{"Action":"pass","Test":"TestLife/jdk26"}
{"Action":"pass","Test":"TestLife/jdk26/a"}
{"Action":"output","Test":"TestLife/jdk26","Output":"x"}
{"Action":"fail","Test":"TestOther/jdk26"}
{"Action":"pass","Test":"TestLife"}
{"Action":"pass"}
`,
		results + "/agent.log": "== the agent on Java 8\n[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 2 s\n[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 1\n[INFO] BUILD SUCCESS\n",
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := "# Java\n\n" + begin + header +
		"| 8 | 1.8.0_1 | 2 passed | 8 passed | - |\n" +
		"| 25 | 25+1 | 1 passed | 7 passed | attach, scrape, reload, move, unload |\n" +
		"| 26 | 26+1 | **1 failed**, 1 passed | - | - |\n" + end + "\nMore.\n"
	for range 2 { // the second time, nothing changes
		if err := write(root); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("the page (-want +got):\n%s", diff)
		}
	}
}
