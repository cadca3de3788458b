package kinds

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Each kind has a valid namespace name, a title, and valid changes.
func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range All() {
		t.Run(k.Name, func(t *testing.T) {
			if seen[k.Name] || seen[k.Title] {
				t.Error("another kind has the same name or title")
			}
			seen[k.Name], seen[k.Title] = true, true
			if problems := validation.IsDNS1123Label(k.Name); len(problems) > 0 {
				t.Error(problems)
			}
			if k.Title == "" || strings.Contains(k.Title, "|") {
				t.Errorf("title %q is empty or contains |", k.Title)
			}
			if k.Reason != "" && k.Phase == "" || k.Reason == "" && k.Mended != nil {
				t.Error("a refused kind has no phase, or a kind that is not refused has a correction")
			}
			changes := []Change{k.Change}
			if k.Mended != nil {
				changes = append(changes, *k.Mended)
			}
			for _, c := range changes {
				if err := c.PatchPod(&unstructured.Unstructured{Object: map[string]any{"kind": "Deployment"}}); err != nil {
					t.Error(err)
				}
				if err := c.PatchExporter(&unstructured.Unstructured{Object: map[string]any{}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A patch keeps every field that it does not name.
func TestPatchPod(t *testing.T) {
	deployment := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "dummyapp", "image": "dummyapp:17", "resources": map[string]any{"limits": map[string]any{"memory": "256Mi"}}}},
	}}}}}
	change := Change{Pod: "hostNetwork: true", Container: "image: dummyapp:25\nresources:\n  limits: {cpu: 1}"}
	if err := change.PatchPod(deployment); err != nil {
		t.Fatal(err)
	}
	text, err := deployment.MarshalJSON()
	if err == nil {
		t.Log(string(text))
	}
	for _, want := range []string{`"hostNetwork":true`, `"image":"dummyapp:25"`, `"memory":"256Mi"`, `"cpu":1`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("patched pod lacks %s", want)
		}
	}
}
