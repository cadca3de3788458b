package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	kubernetes       = "versions of Kubernetes"
	kubernetesHeader = "| Kubernetes | API server | tests | run by |\n| --- | --- | --- | --- |\n"
)

// servers are the versions of the API servers that hack/test kubernetes runs, the oldest
// first.
type servers []string

// minors reads them where hack/apiserver.sh does.
func minors(root string) (servers, error) {
	text, err := os.ReadFile(filepath.Join(root, "hack/tools/kubernetes/minors"))
	if err != nil {
		return nil, err
	}
	var found servers
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			found = append(found, line)
		}
	}
	return found, nil
}

// minor returns the minor version of a version.
func minor(version string) string { return version[:strings.LastIndex(version, ".")] }

// update replaces the cells of the versions that were tested. A version that is not the
// one of the table has no result yet.
func (s servers) update(table, dir string) (string, error) {
	ran, err := read(dir, "kubernetes.json", serverEvents)
	if err != nil {
		return "", err
	}
	known := map[string]string{}
	for _, cells := range cells(table) {
		if len(cells) == 4 {
			known[cells[1]] = cells[2]
		}
	}
	var updated strings.Builder
	updated.WriteString(kubernetesHeader)
	for i, version := range s {
		passed := known[version]
		if r, run := ran[version]; run {
			passed = r.String()
		}
		command := "`make test-all`"
		if i == 0 || i == len(s)-1 {
			command = "`make test`"
		}
		fmt.Fprintf(&updated, "| %s | %s | %s | %s |\n", minor(version), version, cmp.Or(passed, "-"), command)
	}
	return updated.String(), nil
}

// serverEvents returns the results by the API server's version, from the events of
// several runs of go test -json: TestKubernetes says in each which it was.
func serverEvents(lines *bufio.Scanner) (map[string]result, error) {
	found := map[string]result{}
	var version string
	var run result
	for lines.Scan() {
		var event struct{ Action, Test, Key, Value string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		switch {
		case event.Action == "start":
			version, run = "", result{}
		case event.Action == "attr" && event.Key == "kubernetes":
			version = event.Value
		case event.Action == "pass" && event.Test != "":
			run.passed++
		case event.Action == "fail" && event.Test != "":
			run.failed++
		}
		if version != "" {
			found[version] = run
		}
	}
	return found, nil
}
