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
	for format, want := range map[Format]string{
		"":                       "as text",
		"yaml":                   "- name: a\n  ports:\n  - 9400\n- name: b\n",
		"jsonpath={[*].name}":    "a b",
		"jsonpath={[0].ports}":   "[9400]",
		"jsonpath={[1].missing}": "",
		`jsonpath={range [*]}{.name}={.ports[0]}{"\n"}{end}`: "a=9400\nb=\n",
	} {
		var out strings.Builder
		if err := format.Validate(); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		err := format.Print(&out, value, func(w io.Writer) { _, _ = io.WriteString(w, "as text") })
		if got := out.String(); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", format, got, err, want)
		}
	}
	for format, want := range map[Format]string{"wide": "-o takes json, yaml or jsonpath=TEMPLATE", "jsonpath={": "is not a JSONPath template"} {
		if err := format.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", format, err, want)
		}
	}
}
