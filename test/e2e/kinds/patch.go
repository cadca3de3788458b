package kinds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// PatchPod merges Pod and Container into the pods of a Deployment.
func (c Change) PatchPod(deployment *unstructured.Unstructured) error {
	container := "name: dummyapp\n" + c.Container
	patches := []string{c.Pod, "containers:\n- " + strings.ReplaceAll(container, "\n", "\n  ")}
	for _, spec := range patches {
		patch, err := under(spec, "spec", "template", "spec")
		if err != nil {
			return err
		}
		before, err := json.Marshal(deployment)
		if err != nil {
			return err
		}
		after, err := strategicpatch.StrategicMergePatch(before, patch, appsv1.Deployment{})
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		deployment.Object = nil
		if err := json.Unmarshal(after, &deployment.Object); err != nil {
			return err
		}
	}
	return nil
}

// PatchExporter merges Exporter into an exporter's spec.
func (c Change) PatchExporter(exporter *unstructured.Unstructured) error {
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(c.Exporter), &fields); err != nil {
		return err
	}
	spec, _, err := unstructured.NestedMap(exporter.Object, "spec")
	if err != nil {
		return err
	}
	if spec == nil {
		spec = map[string]any{}
	}
	for name, value := range fields {
		spec[name] = runtime.DeepCopyJSONValue(value)
	}
	return unstructured.SetNestedMap(exporter.Object, spec, "spec")
}

// under is the JSON of a YAML document at a path.
func under(document string, path ...string) ([]byte, error) {
	var at any = map[string]any{}
	if document != "" {
		if err := yaml.Unmarshal([]byte(document), &at); err != nil {
			return nil, fmt.Errorf("%s: %w", document, err)
		}
	}
	for _, field := range slices.Backward(path) {
		at = map[string]any{field: at}
	}
	return json.Marshal(at)
}
