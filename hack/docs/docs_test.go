package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// docs/troubleshooting.md has a section for every reason, and none for other names.
func TestReasons(t *testing.T) {
	all := constants(t, "apis/v1alpha1/reasons.go", "Reason")
	maps.Copy(all, constants(t, "apis/v1alpha1/exporterreasons.go", "Reason"))
	maps.Copy(all, constants(t, "apis/v1alpha1/scrapereasons.go", "Reason"))
	want := values(all)
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(read(t, "docs/troubleshooting.md"), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sections of docs/troubleshooting.md (-reasons +sections):\n%s", diff)
	}
}

// Every field owner is in the table of docs/architecture.md, every metric in docs/metrics.md, every flag of the
// manager in docs/operations.md, every key of the configuration in docs/configuration.md.
func TestNames(t *testing.T) {
	cases := map[string]struct {
		source, pattern, page string
	}{
		"field owners": {"pkg/apply/records/owner.go", `"(jmx-exporter-operator/[\w-]+)"`, "docs/architecture.md"},
		"metrics":      {"internal/metrics/metrics.go", `"(jmx_exporter_operator_\w+)"`, "docs/metrics.md"},
		"flags":        {"cmd/manager/options.go", `Var\([^"]+, "([\w-]+)"`, "docs/operations.md"},
		"keys":         {"pkg/configuration/schema.go", `(?m)^\t+"(\w+)":`, "docs/configuration.md"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			page := read(t, tc.page)
			found := regexp.MustCompile(tc.pattern).FindAllStringSubmatch(read(t, tc.source), -1)
			if len(found) == 0 {
				t.Fatalf("nothing in %s matches %s", tc.source, tc.pattern)
			}
			for _, m := range found {
				if !strings.Contains(page, "`"+m[1]+"`") && !strings.Contains(page, "`--"+m[1]+"`") {
					t.Errorf("%s says nothing of `%s`", tc.page, m[1])
				}
			}
		})
	}
}

// Every link refers to an existing file or heading.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(withoutCode(read(t, page)), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := page
			if target != "" {
				file = filepath.Join(filepath.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", page, m[1])
			}
		}
	}
}

// Every page is in the index, docs/README.md, in a row of its own.
func TestIndex(t *testing.T) {
	index := regexp.MustCompile(`(?m)^\|.*\| \[[^]]+\]\(([^)]+\.md)\)[^]]*\|$`).FindAllStringSubmatch(read(t, "docs/README.md"), -1)
	listed := map[string]bool{}
	for _, m := range index {
		listed[filepath.Join("docs", m[1])] = true
	}
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") && page != "docs/README.md" && !listed[page] {
			t.Errorf("docs/README.md has no row for %s", page)
		}
	}
}

// No page is longer than a person reads at once, except for those that are generated, in whole or in part, and
// docs/troubleshooting.md, of which one reads a section.
func TestLength(t *testing.T) {
	const limit = 3000
	generated := regexp.MustCompile(`(?s)<!-- (?:[^>]*written by|make [\w-]+ writes from here).*?<!-- (?:End of what is written\.|to here) -->`)
	for _, page := range pages(t) {
		text := read(t, page)
		if strings.HasPrefix(text, "<!-- Written by hack/docs") || page == "docs/troubleshooting.md" {
			continue
		}
		if words := len(strings.Fields(generated.ReplaceAllString(text, ""))); words > limit {
			t.Errorf("%s has %d words, more than %d: split it by its ideas", page, words, limit)
		}
	}
}

// testNames are the tests of all packages.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range []string{"apis", "cmd", "internal", "pkg", "test"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, "_test.go") {
				return err
			}
			source, err := os.ReadFile(file)
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(source, -1) {
				names[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// Every make target that a page names exists.
func TestMakeTargets(t *testing.T) {
	rules := read(t, "Makefile")
	for _, page := range pages(t) {
		for _, m := range regexp.MustCompile("`make ([a-z0-9-]+)").FindAllStringSubmatch(read(t, page), -1) {
			if !strings.Contains(rules, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which does not exist", page, m[1])
			}
		}
	}
}

// Every transcript of kubectl jmx in its page is one that the integration tests compare with what it prints.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "test/integration/testdata/kubectl/*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		printed[string(content)] = true
	}
	shown := regexp.MustCompile("(?s)\n```\n(\\$ kubectl jmx .*?)```\n").FindAllStringSubmatch(read(t, "docs/kubectl-jmx.md"), -1)
	if len(shown) == 0 {
		t.Fatal("docs/kubectl-jmx.md has no transcript")
	}
	for _, m := range shown {
		if !printed[m[1]] {
			t.Errorf("docs/kubectl-jmx.md has a transcript that is in no file of test/integration/testdata/kubectl:\n%s", m[1])
		}
	}
}

// constants returns the values of a file's string constants with this name prefix.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found[spec.Names[0].Name] = value
		return true
	})
	return found
}

func values(m map[string]string) []string {
	var all []string
	for _, v := range m {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/design/*.md", "hack/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, name)
		}
	}
	return found
}

func withoutCode(page string) string {
	return regexp.MustCompile("(?s)```.*?```|`[^`\n]*`").ReplaceAllString(page, "")
}

// anchors are the headings of a page as GitHub links to them.
func anchors(page string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(withoutCode(page), -1) {
		kept := strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		all = append(all, kept)
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
