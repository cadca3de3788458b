// Package workflows tests .github/workflows, without running them.
package workflows

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const folder = "../../.github/workflows"

type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]job    `json:"jobs"`
}

type job struct {
	Needs       any               `json:"needs"`
	Uses        string            `json:"uses"`
	Environment any               `json:"environment"`
	Permissions map[string]string `json:"permissions"`
	Container   any               `json:"container"`
	Services    map[string]any    `json:"services"`
	Steps       []struct {
		Uses string `json:"uses"`
		Run  string `json:"run"`
	} `json:"steps"`
}

// needs returns the jobs that a job waits for, directly or not.
func (w workflow) needs(name string) []string {
	var all []string
	for _, needed := range texts(w.Jobs[name].Needs) {
		all = append(append(all, needed), w.needs(needed)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// unpinned returns what a workflow runs by a name that somebody can move. An action is pinned
// by its commit, an image by its digest; a workflow of this repository is of the same commit.
func (w workflow) unpinned() (all []string) {
	pinned := func(pattern, what string) {
		if what != "" && !strings.HasPrefix(what, "./") && !regexp.MustCompile(pattern).MatchString(what) {
			all = append(all, what)
		}
	}
	const commit, digest = `^[^@]+@[0-9a-f]{40}$`, `^[^@]+@sha256:[0-9a-f]{64}$`
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		j := w.Jobs[name]
		pinned(commit, j.Uses)
		pinned(digest, image(j.Container))
		for _, service := range j.Services {
			pinned(digest, image(service))
		}
		for _, step := range j.Steps {
			if strings.HasPrefix(step.Uses, "docker://") {
				pinned(digest, step.Uses)
			} else {
				pinned(commit, step.Uses)
			}
		}
	}
	return all
}

// gaps returns what a release may lack, by this workflow.
func (w workflow) gaps() (gaps []string) {
	publishes := false
	for _, name := range slices.Sorted(maps.Keys(w.Jobs)) {
		j := w.Jobs[name]
		if !slices.Contains(slices.Collect(maps.Values(j.Permissions)), "write") {
			continue
		}
		publishes = true
		needed := w.needs(name)
		if j.Environment == nil {
			gaps = append(gaps, fmt.Sprintf("job %s may write, and has no environment, so nobody has to approve it", name))
		}
		if !slices.ContainsFunc(needed, func(n string) bool { return w.Jobs[n].Uses == "./.github/workflows/test.yaml" }) {
			gaps = append(gaps, fmt.Sprintf("job %s may write, and does not need the tests", name))
		}
		if !slices.ContainsFunc(needed, func(n string) bool { return strings.Contains(w.commands(n), "hack/release/on-main ") }) {
			gaps = append(gaps, fmt.Sprintf("job %s may write, and does not need hack/release/on-main", name))
		}
	}
	if !publishes {
		gaps = append(gaps, "no job may write")
	}
	return gaps
}

func (w workflow) commands(job string) string {
	var commands strings.Builder
	for _, step := range w.Jobs[job].Steps {
		commands.WriteString(step.Run + "\n")
	}
	return commands.String()
}

// image returns that of a container or service, which is a name or has one.
func image(of any) string {
	if fields, ok := of.(map[string]any); ok {
		of = fields["image"]
	}
	name, _ := of.(string)
	return name
}

func texts(of any) []string {
	if one, ok := of.(string); ok {
		return []string{one}
	}
	list, _ := of.([]any)
	var all []string
	for _, item := range list {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

func parse(t *testing.T, text string) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whoever moves a tag of an action or an image changes nothing that a workflow runs, and a
// workflow may write only where a job says so.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %q, %v", folder, files, err)
	}
	for _, file := range files {
		w := parse(t, read(t, file))
		for _, what := range w.unpinned() {
			t.Errorf("%s runs %s: name its commit, or the digest of an image", filepath.Base(file), what)
		}
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: permissions of all jobs: got %v, want contents: read", filepath.Base(file), w.Permissions)
		}
	}
}

// A release is published only of a commit of main, after its tests, and if somebody approves.
func TestRelease(t *testing.T) {
	text := read(t, filepath.Join(folder, "release.yaml"))
	for _, gap := range parse(t, text).gaps() {
		t.Errorf("release.yaml: %s", gap)
	}
	for name, broken := range map[string][2]string{
		"no approval":          {"    environment: release\n", ""},
		"without tests":        {"    uses: ./.github/workflows/test.yaml\n", "    uses: ./.github/workflows/docs.yaml\n"},
		"tests are not needed": {"    needs: [build, tests]\n", "    needs: build\n"},
		"not of main":          {"hack/release/on-main", "echo"},
	} {
		changed := strings.Replace(text, broken[0], broken[1], 1)
		if changed == text {
			t.Errorf("%s: release.yaml has no %q, so this case proves nothing", name, broken[0])
		}
		if len(parse(t, changed).gaps()) == 0 {
			t.Errorf("%s: the gap is not noticed", name)
		}
	}
}

func TestUnpinned(t *testing.T) {
	commit, digest := strings.Repeat("a", 40), strings.Repeat("a", 64)
	for what, want := range map[string]int{
		"steps: [{uses: actions/checkout@" + commit + "}]":          0,
		"steps: [{uses: actions/checkout@v7}]":                      1,
		"steps: [{uses: actions/checkout@main}]":                    1,
		"steps: [{uses: actions/checkout@" + commit[1:] + "}]":      1,
		"steps: [{uses: ./.github/actions/x}]":                      0,
		"steps: [{uses: 'docker://alpine:3'}]":                      1,
		"steps: [{uses: 'docker://alpine@sha256:" + digest + "'}]":  0,
		"uses: ./.github/workflows/test.yaml":                       0,
		"uses: other/repository/.github/workflows/x.yaml@v1":        1,
		"container: debian:12":                                      1,
		"container: 'debian:12@sha256:" + digest + "'":              0,
		"container: {image: 'debian:bookworm'}":                     1,
		"container: {image: 'debian@sha256:" + digest + "'}":        0,
		"services: {db: {image: 'postgres:15'}}":                    1,
		"services: {db: {image: 'postgres@sha256:" + digest + "'}}": 0,
	} {
		if got := parse(t, "jobs: {x: {"+what+"}}").unpinned(); len(got) != want {
			t.Errorf("%s: unpinned: got %q, want %d", what, got, want)
		}
	}
}
