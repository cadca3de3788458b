//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// The tables have a row for each tested version and kind, regardless of the results.
func TestTablesAreComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{}
	servers, err := minors("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range servers {
		want[kubernetes] = append(want[kubernetes], minor(version))
	}
	for _, major := range jvmtest.Majors {
		want[versions] = append(want[versions], strconv.Itoa(major))
	}
	for _, k := range kinds.All() {
		want[pods] = append(want[pods], k.Title)
	}
	for what := range want {
		_, table, _, err := cut(string(text), what)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range cells(table) {
			got = append(got, row[0])
		}
		if diff := cmp.Diff(want[what], got); diff != "" {
			t.Errorf("%s (-tested +in %s): run go run ./hack/compatibility after make test-all\n%s", what, page, diff)
		}
	}
}

// A result replaces only the row of its kind, and its message cannot break the table.
func TestUpdateKinds(t *testing.T) {
	dir := t.TempDir()
	k := kinds.All()[1]
	var events strings.Builder
	for _, result := range []kinds.Result{
		{Kind: k.Name, Transport: "Exec", Outcome: "Annotated", Message: "a | b < c\nd"},
		{Kind: kinds.ByNode()[1].Name, Transport: "Node", Outcome: "Staged", Message: "ignored"},
	} {
		text, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		event, err := json.Marshal(map[string]string{"Action": "attr", "Key": kinds.Attribute, "Value": string(text)})
		if err != nil {
			t.Fatal(err)
		}
		events.WriteString(string(event) + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "e2e.json"), []byte(events.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	first := "| " + kinds.All()[0].Title + " | kept | kept | kept | kept |\n"
	table, err := updateKinds(kindsHeader+first+"| gone | a | b | c | d |\n", dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(strings.TrimPrefix(table, kindsHeader), "\n")
	want := []string{first, "| " + k.Title + " | Exec | Annotated | Staged | a \\| b &lt; c d |\n", "| " + kinds.All()[2].Title + " | - | - | - | - |\n"}
	if diff := cmp.Diff(want, rows[:3]); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(table, "gone") {
		t.Error("a kind that is not tested any more has its row still")
	}
}

// On arm64, a version of Java passes with each size of the kernel's pages.
func TestUpdateArm64(t *testing.T) {
	dir := t.TempDir()
	const results = `{"Action":"attr","Package":"arm64-4k/test/hostile","Test":"TestAttach/jdk8","Key":"java","Value":"1.8.0_1"}
{"Action":"pass","Package":"arm64-4k/test/hostile","Test":"TestAttach/jdk8/uid=0/Exec"}
{"Action":"pass","Package":"arm64-4k/test/hostile","Test":"TestAttach/jdk8"}
{"Action":"pass","Package":"arm64-16k/test/hostile","Test":"TestAttach/jdk8"}
{"Action":"pass","Package":"arm64-4k/test/hostile","Test":"TestAttach/jdk11"}
{"Action":"fail","Package":"arm64-16k/test/hostile","Test":"TestAttach/jdk11"}
`
	if err := os.WriteFile(filepath.Join(dir, "arm64.json"), []byte(results), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := updateVersions(header+"| 8 | build | helper | agent | cluster | gone |\n", dir)
	if err != nil {
		t.Fatal(err)
	}
	want := header + "| 8 | build | helper | agent | cluster | 1.8.0_1, pages of 4 and 16 KiB |\n| 11 | - | - | - | - | **failed** |\n"
	if diff := cmp.Diff(want, table); diff != "" {
		t.Error(diff)
	}
}
