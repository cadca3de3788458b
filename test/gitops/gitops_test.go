package gitops

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	// page has the table of these results between its markers.
	page  = "../../docs/gitops.md"
	begin = "<!-- The states: written by test/gitops (UPDATE=1 go test). Do not edit. -->\n\n"
	end   = "\n<!-- End of what is written. -->\n"
)

// The order of the table: that of a life.
var states = []string{
	"exporter-new", "exporter-changed", "exporter-no-pods", "exporter-in-progress", "exporter-ready", "exporter-updating", "exporter-paused",
	"exporter-failing", "exporter-refused-in-progress", "exporter-refused", "exporter-configuration-invalid", "exporter-halted",
	"exporter-write-refused", "exporter-suspended", "exporter-suspended-ready", "exporter-preflight", "exporter-preflight-complete",
	"exporter-deleted",
	"attachment-new", "attachment-in-progress", "attachment-passing", "attachment-failing", "attachment-refused", "attachment-ready",
	"attachment-detaching",
}

// docs/gitops.md has what both tools make of each state.
func TestStates(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the markers of the table", page)
	}
	want := tableOf(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Errorf("%s, UPDATE=1 writes it: got\n%swant\n%s", page, table, want)
	}
}

func tableOf(t *testing.T) string {
	t.Helper()
	objects := samples(t)
	if got := slices.Sorted(maps.Keys(objects)); !slices.Equal(got, slices.Sorted(slices.Values(states))) {
		t.Fatalf("samples %v, states %v", got, states)
	}
	table := "| state | Ready | kstatus (Flux) | Argo CD |\n| --- | --- | --- | --- |\n"
	for _, state := range states {
		object := objects[state]
		result, err := status.Compute(object)
		if err != nil {
			t.Fatalf("%s: %v", state, err)
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", strings.ReplaceAll(strings.Replace(state, "-", ": ", 1), "-", " "), ready(object), result.Status, health(t, object))
	}
	return table
}

// The manifests in the page are YAML, and each is an object or a kustomization.
func TestManifests(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(content, -1)
	if len(blocks) == 0 {
		t.Fatalf("%s has no manifest", page)
	}
	for _, block := range blocks {
		for document := range strings.SplitSeq(string(block[1]), "\n---\n") {
			object := map[string]any{}
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				t.Errorf("%v:\n%s", err, document)
			}
			if object["kind"] == nil && object["patches"] == nil {
				t.Errorf("neither an object nor patches:\n%s", document)
			}
		}
	}
}

// samples are the objects in testdata, and those that no operator has processed in their
// present form, or that are being deleted.
func samples(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		objects[strings.TrimSuffix(filepath.Base(file), ".yaml")] = read(t, file)
	}
	add := func(state, of string, change func(content map[string]any) error) {
		object := objects[of].DeepCopy()
		if err := change(object.Object); err != nil {
			t.Fatal(err)
		}
		objects[state] = object
	}
	// As the API server defaults it (test/integration, TestStatusBeforeTheOperator).
	unseen := func(content map[string]any) error {
		return unstructured.SetNestedMap(content, map[string]any{"observedGeneration": int64(-1)}, "status")
	}
	add("exporter-new", "exporter-ready", unseen)
	add("attachment-new", "attachment-ready", unseen)
	add("exporter-changed", "exporter-ready", func(content map[string]any) error {
		return unstructured.SetNestedField(content, int64(3), "metadata", "generation")
	})
	add("exporter-deleted", "exporter-ready", func(content map[string]any) error {
		return unstructured.SetNestedField(content, "2026-01-01T12:00:00Z", "metadata", "deletionTimestamp")
	})
	return objects
}

func read(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return object
}

func ready(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Ready" {
			return fmt.Sprintf("%s, %s", c["status"], c["reason"])
		}
	}
	return ""
}

// health runs the script of config/argocd as Argo CD does: with the object as obj, without
// libraries beyond Lua's base, table and string, and of objects that are being deleted
// with a result of its own.
func health(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	if object.GetDeletionTimestamp() != nil {
		return "Progressing"
	}
	scripts, _, err := unstructured.NestedStringMap(read(t, "../../config/argocd/argocd-cm.yaml").Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	gvk := object.GroupVersionKind()
	script, ok := scripts["resource.customizations.health."+gvk.Group+"_"+gvk.Kind]
	if !ok {
		t.Fatalf("config/argocd has no script for %s", gvk)
	}
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{"": lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	l.SetGlobal("obj", value(l, object.Object))
	if err := l.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %v", l.Get(-1))
	}
	if _, ok := result.RawGetString("message").(lua.LString); !ok {
		t.Errorf("%s: message %v", object.GetName(), result.RawGetString("message"))
	}
	return result.RawGetString("status").String()
}

// value converts what JSON decodes to.
func value(l *lua.LState, from any) lua.LValue {
	switch from := from.(type) {
	case map[string]any:
		table := l.NewTable()
		for key, v := range from {
			table.RawSetString(key, value(l, v))
		}
		return table
	case []any:
		table := l.NewTable()
		for _, v := range from {
			table.Append(value(l, v))
		}
		return table
	case string:
		return lua.LString(from)
	case bool:
		return lua.LBool(from)
	case int64:
		return lua.LNumber(from)
	case float64:
		return lua.LNumber(from)
	}
	return lua.LNil
}
