package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// apiPage returns the page that describes the CRDs in a folder.
func apiPage(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return "", err
	}
	var crds []apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		crds = append(crds, crd)
	}
	// Kinds that users write come before those that the operator writes.
	slices.SortStableFunc(crds, func(a, b apiextensionsv1.CustomResourceDefinition) int {
		return -strings.Compare(a.Spec.Names.Kind, b.Spec.Names.Kind)
	})

	var b strings.Builder
	b.WriteString("# API reference\n\n`kubectl explain prometheusjmxexporter.spec` and `kubectl explain jmxattachment.status` say the same. The conditions' reasons are in [troubleshooting.md](troubleshooting.md), the phases in [states.md](states.md).\n")
	var condition *apiextensionsv1.JSONSchemaProps
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			writeKind(&b, crd, version)
			if c, ok := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]; ok {
				condition = c.Items.Schema
			}
		}
	}
	if condition != nil {
		fmt.Fprintf(&b, "\n## Condition\n\nA condition of either kind: Kubernetes' own type, `metav1.Condition`.\n%s", tableHead)
		writeFields(&b, "", *condition)
	}
	return b.String(), nil
}

const tableHead = "\n| field | type | required, default | valid | meaning |\n| --- | --- | --- | --- | --- |\n"

func writeKind(b *strings.Builder, crd apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) {
	names := crd.Spec.Names
	schema := version.Schema.OpenAPIV3Schema
	fmt.Fprintf(b, "\n## %s\n\n`apiVersion: %s/%s`, `kind: %s`. %s. Short name: `%s`. Category: `%s`.\n\n%s\n",
		names.Kind, crd.Spec.Group, version.Name, names.Kind, crd.Spec.Scope,
		strings.Join(names.ShortNames, "`, `"), strings.Join(names.Categories, "`, `"), sentence(schema.Description))
	for _, part := range []string{"spec", "status"} {
		fmt.Fprintf(b, "\n### %s.%s\n\n%s\n", names.Kind, part, sentence(schema.Properties[part].Description))
		if rules := rulesOf(schema.Properties[part]); rules != "" {
			fmt.Fprintf(b, "\n%s\n", strings.ToUpper(rules[:1])+rules[1:]+".")
		}
		b.WriteString(tableHead)
		writeFields(b, "", schema.Properties[part])
	}
	fmt.Fprintf(b, "\n### Columns of `kubectl get %s`\n\n| column | from | shown | meaning |\n| --- | --- | --- | --- |\n", names.Plural)
	for _, c := range version.AdditionalPrinterColumns {
		shown := "always"
		if c.Priority > 0 {
			shown = "with `-o wide`"
		}
		fmt.Fprintf(b, "| %s | `%s` | %s | %s |\n", strings.ToUpper(c.Name), c.JSONPath, shown, cell(c.Description))
	}
}

// writeFields writes a row for each field, including those of nested objects and lists.
func writeFields(b *strings.Builder, prefix string, schema apiextensionsv1.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		path := prefix + name
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", path, typeOf(field),
			requiredOrDefault(schema, name), cell(strings.Join(validations(field), "; ")), cell(sentence(field.Description)))
		switch {
		case name == "conditions": // described once, at the end
		case field.Items != nil && field.Items.Schema != nil:
			writeFields(b, path+"[].", *field.Items.Schema)
		case len(field.Properties) > 0:
			writeFields(b, path+".", field)
		}
	}
}

func typeOf(s apiextensionsv1.JSONSchemaProps) string {
	switch {
	case s.XListType != nil && slices.Contains(s.XListMapKeys, "type"):
		return "list of [Condition](#condition)"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	case s.XIntOrString:
		return "quantity"
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	}
	return s.Type
}

func requiredOrDefault(parent apiextensionsv1.JSONSchemaProps, name string) string {
	if d := parent.Properties[name].Default; d != nil {
		return "default `" + string(d.Raw) + "`"
	}
	if slices.Contains(parent.Required, name) {
		return "required"
	}
	return "optional"
}

func validations(s apiextensionsv1.JSONSchemaProps) []string {
	var all []string
	add := func(format string, value ...any) { all = append(all, fmt.Sprintf(format, value...)) }
	if s.Minimum != nil {
		add("at least %v", *s.Minimum)
	}
	if s.Maximum != nil {
		add("at most %v", *s.Maximum)
	}
	if s.MinLength != nil {
		add("at least %d character", *s.MinLength)
	}
	if s.MaxLength != nil {
		add("at most %d characters", *s.MaxLength)
	}
	if s.MaxItems != nil {
		add("at most %d items", *s.MaxItems)
	}
	if s.MinProperties != nil {
		add("at least %d entry", *s.MinProperties)
	}
	if s.MaxProperties != nil {
		add("at most %d entries", *s.MaxProperties)
	}
	if s.Pattern != "" && !s.XIntOrString {
		add("matches `%s`", s.Pattern)
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, e := range s.Enum {
			var word string
			if json.Unmarshal(e.Raw, &word) == nil {
				words = append(words, "`"+word+"`")
			}
		}
		add("%s", strings.Join(words, ", "))
	}
	if s.XListType != nil && *s.XListType == "map" {
		add("one for each `%s`", strings.Join(s.XListMapKeys, "`, `"))
	}
	if rules := rulesOf(s); rules != "" {
		add("%s", rules)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		for _, v := range validations(*s.AdditionalProperties.Schema) {
			add("value: %s", v)
		}
	}
	return all
}

// rulesOf returns the messages of the CEL rules.
func rulesOf(s apiextensionsv1.JSONSchemaProps) string {
	var rules []string
	for _, v := range s.XValidations {
		rules = append(rules, "refused with: “"+v.Message+"”")
	}
	return strings.Join(rules, "; ")
}

// sentence returns a description on one line.
func sentence(description string) string { return strings.Join(strings.Fields(description), " ") }

func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
