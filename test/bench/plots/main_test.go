package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Each plot becomes one picture, with the names of its lines and goals. One fleet suffices.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, "results.json")
	const figures = `{"Figures": [
		{"Plot": "requests", "Name": "requests, first", "Short": "first attach", "Goal": 6, "Points": [{"Pods": 2000, "Exporters": 1, "Value": 7}, {"Pods": 500, "Exporters": 1, "Value": 8}]},
		{"Plot": "requests", "Name": "requests, new", "Short": "new configuration", "Points": [{"Pods": 500, "Exporters": 1, "Value": 3}]},
		{"Plot": "turn", "Name": "longest wait", "Points": [{"Pods": 500, "Exporters": 1, "Value": 1}, {"Pods": 500, "Exporters": 200, "Value": 2}]}]}`
	if err := os.WriteFile(results, []byte(figures), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(results, dir); err != nil {
		t.Fatal(err)
	}
	for file, texts := range map[string][]string{
		"scale-requests.svg": {"Requests a pod", "first attach, 1 exporters", "new configuration, 1 exporters", "goal"},
		"scale-turn.svg":     {"longest wait", "200 exporters"},
	} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, text := range texts {
			if !bytes.Contains(content, []byte(text)) {
				t.Errorf("%s lacks %q", file, text)
			}
		}
	}
}
