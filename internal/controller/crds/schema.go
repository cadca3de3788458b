package crds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

type schema = apiextensionsv1.JSONSchemaProps

// servedSchema returns the schema of v1alpha1; nil if it is not served.
func servedSchema(definition *apiextensionsv1.CustomResourceDefinition) *schema {
	for _, version := range definition.Spec.Versions {
		if version.Name == v1alpha1.GroupVersion.Version && version.Served && version.Schema != nil {
			return version.Schema.OpenAPIV3Schema
		}
	}
	return nil
}

// missing returns the fields and values of a schema that the installed one does not have, or has
// with another type, in order. The API server drops such a field where it reads or stores an
// object, and rejects an apply that has it.
func missing(built, installed *schema, path string) []string {
	if installed == nil || built.Type != installed.Type || built.XIntOrString != installed.XIntOrString {
		return []string{path}
	}
	if preserves(installed) {
		return nil
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(built.Properties)) {
		fields = append(fields, missing(property(built, name), property(installed, name), join(path, name))...)
	}
	if v := values(built); v != nil {
		fields = append(fields, missing(v, values(installed), path+".*")...)
	}
	if element := elements(built); element != nil {
		fields = append(fields, missing(element, elements(installed), path+"[]")...)
	}
	for _, value := range built.Enum {
		if len(installed.Enum) > 0 && !hasValue(installed.Enum, decoded(value.Raw)) {
			fields = append(fields, fmt.Sprintf("%s=%s", path, value.Raw))
		}
	}
	return fields
}

// unsupported returns the fields of a value that its schema does not have, and those that have a
// value which it does not list. What the installed schema, a newer one, sets by default is not
// counted: whoever wrote the object did not ask for it, and the default of a new field is the
// behavior without it (docs/releases.md).
func unsupported(value any, built, installed *schema, path string) []string {
	if preserves(built) {
		return nil
	}
	var fields []string
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			known, newer := property(built, name), property(installed, name)
			switch {
			case known != nil:
				fields = append(fields, unsupported(value[name], known, newer, join(path, name))...)
			case !isDefault(value[name], newer):
				fields = append(fields, join(path, name))
			}
		}
	case []any:
		for _, v := range value {
			if element := elements(built); element != nil {
				fields = append(fields, unsupported(v, element, elements(installed), path+"[]")...)
			}
		}
	default:
		if len(built.Enum) > 0 && !hasValue(built.Enum, value) {
			fields = append(fields, fmt.Sprintf("%s=%v", path, value))
		}
	}
	return fields
}

// isDefault reports whether the API server sets the value where there is none: the default, with
// the defaults of its fields.
func isDefault(value any, of *schema) bool {
	if of == nil || of.Default == nil {
		return false
	}
	set := decoded(of.Default.Raw)
	object, isObject := value.(map[string]any)
	defaults, hasObject := set.(map[string]any)
	if !isObject || !hasObject {
		return equality.Semantic.DeepEqual(value, set)
	}
	for name, v := range object {
		if d, given := defaults[name]; given && !equality.Semantic.DeepEqual(v, d) || !given && !isDefault(v, property(of, name)) {
			return false
		}
	}
	for name := range defaults {
		if _, has := object[name]; !has {
			return false
		}
	}
	return true
}

// property returns the schema of a field, or that of the values of a map; nil for none.
func property(of *schema, name string) *schema {
	if of == nil {
		return nil
	}
	if p, found := of.Properties[name]; found {
		return &p
	}
	return values(of)
}

// values returns the schema of the values of a map; nil for what is no map.
func values(of *schema) *schema {
	if of.AdditionalProperties == nil {
		return nil
	}
	return of.AdditionalProperties.Schema
}

// elements returns the schema of the elements of a list; nil for what is no list.
func elements(of *schema) *schema {
	if of == nil || of.Items == nil {
		return nil
	}
	return of.Items.Schema
}

func preserves(s *schema) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

func hasValue(values []apiextensionsv1.JSON, value any) bool {
	return slices.ContainsFunc(values, func(v apiextensionsv1.JSON) bool { return equality.Semantic.DeepEqual(decoded(v.Raw), value) })
}

// decoded returns a JSON value of a schema, which the API server has validated; nil for another.
func decoded(raw []byte) any {
	var value any
	_ = json.Unmarshal(raw, &value)
	return value
}

func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }
