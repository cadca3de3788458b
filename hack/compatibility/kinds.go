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
	kindsHeader = "| kind of pod or JVM | transport | outcome | what the record says |\n| --- | --- | --- | --- |\n"
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
	for _, k := range kinds.All() {
		line, ok := known[k.Title]
		if r, run := ran[k.Name]; run {
			line, ok = kindRow(k, r), true
		}
		if !ok {
			line = kindRow(k, kinds.Result{Transport: "-", Outcome: "-", Message: "-"})
		}
		updated.WriteString(line)
	}
	return updated.String(), nil
}

func kindRow(k kinds.Kind, r kinds.Result) string {
	outcome := r.Outcome
	if k.Reason != "" && outcome == k.Reason {
		outcome = fmt.Sprintf("[%s](troubleshooting.md#%s)", outcome, strings.ToLower(outcome))
	}
	// A line break would end the table, a bar the cell, and < would start HTML.
	message := strings.NewReplacer("\n", " ", "|", "\\|", "<", "&lt;").Replace(r.Message)
	return fmt.Sprintf("| %s | %s | %s | %s |\n", k.Title, cmp.Or(r.Transport, "-"), outcome, message)
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
