package output

import (
	"io"
	"strings"
	"testing"
)

func TestFormats(t *testing.T) {
	type pod struct {
		Name  string `json:"name"`
		Ports []int  `json:"ports,omitempty"`
	}
	value := []pod{{"a", []int{9400}}, {Name: "b"}}
	view := View{Value: value, Objects: []string{"pod/a", "pod/b"}, Text: func(w io.Writer) { _, _ = io.WriteString(w, "as text") }}
	for format, want := range map[string]string{
		"":                       "as text",
		"yaml":                   "- name: a\n  ports:\n  - 9400\n- name: b\n",
		"name":                   "pod/a\npod/b\n",
		"jsonpath={[*].name}":    "a b",
		"jsonpath={[0].ports}":   "[9400]",
		"jsonpath={[1].missing}": "",
		`jsonpath={range [*]}{.name}={.ports[0]}{"\n"}{end}`: "a=9400\nb=\n",
	} {
		f := Format{Names: true, value: format}
		var out strings.Builder
		if err := f.Validate(); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		err := f.Print(&out, view)
		if got := out.String(); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", format, got, err, want)
		}
	}
	for format, want := range map[string]string{
		"wide": "-o takes json, yaml or jsonpath=TEMPLATE", "name": "-o takes json, yaml or jsonpath=TEMPLATE", "jsonpath={": "is not a JSONPath template",
	} {
		f := Format{value: format}
		if err := f.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", format, err, want)
		}
	}
}
