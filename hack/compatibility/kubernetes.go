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
	kubernetesHeader = "| Kubernetes | version | API server | node |\n| --- | --- | --- | --- |\n"
)

// servers are the versions of Kubernetes that the operator is tested with, the oldest first.
type servers []string

// minors reads them where hack/kubernetes.sh does.
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
	type row struct{ server, node string }
	rows := map[string]row{}
	for _, cells := range cells(table) {
		if len(cells) == 4 {
			rows[cells[1]] = row{cells[2], cells[3]}
		}
	}
	// On a version of which both ran, the suite e2e includes the suite demo.
	for _, suite := range []string{"kubernetes", "demo", "e2e"} {
		ran, err := read(dir, suite+".json", versionEvents)
		if err != nil {
			return "", err
		}
		for version, result := range ran {
			r := rows[version]
			if suite == "kubernetes" {
				r.server = result.String()
			} else {
				r.node = result.String()
			}
			rows[version] = r
		}
	}
	var updated strings.Builder
	updated.WriteString(kubernetesHeader)
	for _, version := range s {
		r := rows[version]
		fmt.Fprintf(&updated, "| %s | %s | %s | %s |\n", minor(version), version, cmp.Or(r.server, "-"), cmp.Or(r.node, "-"))
	}
	return updated.String(), nil
}

// versionEvents returns the results by the version of Kubernetes, from the events of
// several runs of go test -json: TestKubernetes says in each which it was.
func versionEvents(lines *bufio.Scanner) (map[string]result, error) {
	type run struct {
		version string
		result  result
	}
	found := map[string]result{}
	runs := map[string]run{} // the current one of each package
	for lines.Scan() {
		var event struct{ Action, Package, Test, Key, Value string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		r := runs[event.Package]
		switch {
		case event.Action == "start":
			r = run{}
		case event.Action == "attr" && event.Key == "kubernetes":
			r.version = event.Value
		case event.Action == "pass" && event.Test != "":
			r.result.passed++
		case event.Action == "fail" && event.Test != "":
			r.result.failed++
		}
		runs[event.Package] = r
		if r.version != "" {
			found[r.version] = r.result
		}
	}
	return found, nil
}
