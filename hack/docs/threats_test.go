package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every threat and behavior in docs/threats.md has a number, and names tests that exist; every
// test of attacks has a row.
func TestThreats(t *testing.T) {
	page := read(t, "docs/threats.md")
	tables := regexp.MustCompile(`(?m)(?:^\|.+\|\n)+`).FindAllString(page, -1)
	if len(tables) != 2 {
		t.Fatalf("docs/threats.md has %d tables, not those of threats and of a hostile container", len(tables))
	}
	tests, number := testNames(t), 0
	for _, table := range tables {
		for _, row := range strings.Split(strings.TrimSpace(table), "\n")[2:] { // after the header and its separator
			cells := strings.Split(row, "|")
			number++
			if got, want := strings.TrimSpace(cells[1]), fmt.Sprintf("T%d", number); got != want {
				t.Errorf("the row after T%d has the number %q, want %s", number-1, got, want)
			}
			names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[4], -1)
			if len(names) == 0 {
				t.Errorf("no test is named for T%d", number)
			}
			for _, m := range names {
				if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && !tests[m[1]] {
					t.Errorf("%s is no test, and is named for T%d", m[1], number)
				}
			}
		}
	}
	for _, test := range attackTests(t) {
		if !strings.Contains(page, "`"+test+"`") && !slices.Contains(noAttacks, test) {
			t.Errorf("docs/threats.md has no row for %s", test)
		}
	}
}

// noAttacks are tests in the files of attacks that attempt none: what must pass in spite of the
// policies, and the attachment in a harmless container.
var noAttacks = []string{"TestAttach", "TestAttachRole", "TestAuthorityPasses", "TestMain"}

// attackTests returns the names of the tests in the files of attacks.
func attackTests(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{
		"test/integration/containment*_test.go", "test/integration/authority*_test.go", "test/integration/protected_test.go",
		"test/integration/lost_record_test.go", "test/integration/hostile_tenant_test.go", "test/hostile/*_test.go",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(content, -1) {
				names = append(names, string(m[1]))
			}
		}
	}
	return names
}
