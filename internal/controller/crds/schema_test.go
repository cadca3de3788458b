package crds

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

func parsed(t *testing.T, text string) *schema {
	t.Helper()
	s := &schema{}
	if err := yaml.Unmarshal([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// What an installed definition lacks is found wherever it is, and what it has in addition is not
// counted.
func TestMissing(t *testing.T) {
	const built = `
type: object
properties:
  spec:
    type: object
    properties:
      mode: {type: string, enum: [Attach, Preflight]}
      selector: {type: object, additionalProperties: {type: string}}
      rules: {type: array, items: {type: object, properties: {name: {type: string}, limit: {x-kubernetes-int-or-string: true}}}}
`
	for name, tc := range map[string]struct {
		installed string
		want      []string
	}{
		"the same": {built, nil},
		"newer": {`{type: object, properties: {status: {type: object}, spec: {type: object, properties: {mode: {type: string, enum: [Attach, Preflight, Other]},
			selector: {type: object, additionalProperties: {type: string}}, more: {type: string},
			rules: {type: array, items: {type: object, properties: {name: {type: string}, limit: {x-kubernetes-int-or-string: true}, more: {type: string}}}}}}}}`, nil},
		"not served":          {"", []string{""}},
		"without validation":  {`{type: object, x-kubernetes-preserve-unknown-fields: true}`, nil},
		"a part is unchecked": {`{type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}`, nil},
		"without a field":     {`{type: object}`, []string{"spec"}},
		"without fields of all kinds": {`{type: object, properties: {spec: {type: object, properties: {mode: {type: string, enum: [Attach]},
			selector: {type: object}, rules: {type: array, items: {type: object, properties: {limit: {type: integer}}}}}}}}`,
			[]string{`spec.mode="Preflight"`, "spec.rules[].limit", "spec.rules[].name", "spec.selector.*"}},
		"with another type": {`{type: object, properties: {spec: {type: object, properties: {mode: {type: integer},
			selector: {type: object, additionalProperties: {type: integer}}, rules: {type: object}}}}}`,
			[]string{"spec.mode", "spec.rules", "spec.selector.*"}},
	} {
		var installed *schema
		if tc.installed != "" {
			installed = parsed(t, tc.installed)
		}
		if got := missing(parsed(t, built), installed, ""); !slices.Equal(got, tc.want) {
			t.Errorf("%s: missing are %q, want %q", name, got, tc.want)
		}
	}
}

// A spec is unknown if somebody set what its schema does not have. Defaults of a newer schema
// nobody has set.
func TestUnsupported(t *testing.T) {
	const (
		built = `
type: object
properties:
  mode: {type: string, enum: [Attach, Preflight]}
  labels: {type: object, additionalProperties: {type: string}}
  rollout: {type: object, properties: {count: {type: integer}}}
  terms: {type: array, items: {type: object, properties: {operator: {type: string, enum: [In, Exists]}}}}
`
		newer = `
type: object
properties:
  mode: {type: string, enum: [Attach, Preflight, Other], default: Other}
  rollout:
    type: object
    properties:
      pace: {type: string, default: Fast}
      window: {type: object, default: {days: 2}, properties: {days: {type: integer}, zone: {type: string, default: UTC}, more: {type: string}}}
  sampling: {type: integer, default: 1}
  plain: {type: string}
`
	)
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"all known":               {`{mode: Attach, labels: {any: thing}, rollout: {count: 1}, terms: [{operator: In}]}`, nil},
		"defaults":                {`{sampling: 1, rollout: {pace: Fast, window: {days: 2, zone: UTC}}}`, nil},
		"other than the default":  {`{sampling: 2, rollout: {pace: Slow, window: {days: 3, zone: UTC}}}`, []string{"rollout.pace", "rollout.window", "sampling"}},
		"more than the default":   {`{rollout: {window: {days: 2, more: x}}}`, []string{"rollout.window"}},
		"less than the default":   {`{rollout: {window: {zone: UTC}}}`, []string{"rollout.window"}},
		"without a default":       {`{plain: x}`, []string{"plain"}},
		"in neither":              {`{nowhere: x}`, []string{"nowhere"}},
		"an unknown value":        {`{terms: [{operator: In}, {operator: Gt}]}`, []string{"terms[].operator=Gt"}},
		"an unknown default":      {`{mode: Other}`, []string{"mode=Other"}},
		"a field of list entries": {`{terms: [{operator: In, weight: 1}]}`, []string{"terms[].weight"}},
	} {
		data, err := yaml.YAMLToJSON([]byte(tc.spec))
		if err != nil {
			t.Fatal(err)
		}
		if got := unsupported(decoded(data), parsed(t, built), parsed(t, newer), ""); !slices.Equal(got, tc.want) {
			t.Errorf("%s: unsupported are %q, want %q", name, got, tc.want)
		}
	}
}
