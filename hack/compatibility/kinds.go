package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

const (
	pods        = "kinds of pods"
	kindsHeader = "| kind of pod or JVM | transport | outcome | by a node agent | what the record says |\n| --- | --- | --- | --- | --- |\n"
)

// updateKinds replaces the rows of the pod kinds that were tested, in the order of
// kinds.All.
func updateKinds(table, dir string) (string, error) {
	ran, err := read(dir, "e2e.json", kindEvents)
	if err != nil {
		return "", err
	}
	known := map[string]string{}
	for line := range strings.Lines(table) {
		if title, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
			known[title] = line
		}
	}
	var updated strings.Builder
	updated.WriteString(kindsHeader)
	byNode := map[string]kinds.Kind{}
	for _, k := range kinds.ByNode() {
		byNode[k.Title] = k
	}
	for _, k := range kinds.All() {
		// The last cell may have bars, which are escaped.
		row := strings.SplitN(strings.TrimSuffix(strings.TrimPrefix(known[k.Title], "| "), " |\n"), " | ", 5)
		if len(row) != 5 {
			row = []string{k.Title, "-", "-", "-", "-"}
		}
		if r, run := ran[k.Name]; run {
			row[1], row[2], row[4] = cmp.Or(r.Transport, "-"), outcome(k, r), message(r)
		}
		if node, asked := byNode[k.Title]; !asked {
			row[3] = "-"
		} else if r, run := ran[node.Name]; run {
			row[3] = outcome(node, r)
		}
		updated.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return updated.String(), nil
}

// outcome is the cell of what became of a kind.
func outcome(k kinds.Kind, r kinds.Result) string {
	if k.Reason != "" && r.Outcome == k.Reason {
		return fmt.Sprintf("[%s](troubleshooting.md#%s)", r.Outcome, strings.ToLower(r.Outcome))
	}
	return r.Outcome
}

// message is the cell of what the record says.
func message(r kinds.Result) string {
	// A line break would end the table, a bar the cell, and < would start HTML.
	return strings.NewReplacer("\n", " ", "|", "\\|", "<", "&lt;").Replace(r.Message)
}

// kindEvents returns the results by the kind's name, from the events of go test -json.
func kindEvents(lines *bufio.Scanner) (map[string]kinds.Result, error) {
	found := map[string]kinds.Result{}
	for lines.Scan() {
		var event struct{ Action, Key, Value string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, err
		}
		if event.Action != "attr" || event.Key != kinds.Attribute {
			continue
		}
		var result kinds.Result
		if err := json.Unmarshal([]byte(event.Value), &result); err != nil {
			return nil, err
		}
		found[result.Kind] = result
	}
	return found, nil
}
