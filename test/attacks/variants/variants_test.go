package variants

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

type mode string

type Inner struct {
	Mode  mode   `json:"mode,omitempty"`
	Items []part `json:"items,omitempty"`
}

type part struct {
	Name string `json:"name"`
}

type outer struct {
	Inner  `json:",inline"`
	Text   string            `json:"text"`
	Flag   *bool             `json:"flag,omitempty"`
	Number int32             `json:"number"`
	Labels map[string]string `json:"labels,omitempty"`
	Size   resource.Quantity `json:"size"`
	Part   *part             `json:"part,omitempty"`
	hidden string            //nolint:unused // reflection finds it, and leaves it out
}

var values = Values{ByType: map[reflect.Type][]any{
	reflect.TypeFor[mode]():              {mode("a"), mode("b")},
	reflect.TypeFor[part]():              {part{Name: "sample"}},
	reflect.TypeFor[resource.Quantity](): {resource.MustParse("1")},
}, ByPath: map[string][]any{"text": {"valid"}}}

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		of   outer
		want []string
	}{
		"what is not set is set": {of: outer{}, want: []string{
			`mode=a`, `mode=b`, `items[+]={"name":"sample"}`, `items[+].name=other`, `items[+].name=`, `text=valid`, `flag=false`, `flag=true`, `number=1`,
			`labels[+]=other`, `size=1`, `part={"name":"sample"}`, `part.name=other`, `part.name=`,
		}},
		"what is set is changed and removed": {of: outer{
			Inner: Inner{Mode: "a", Items: []part{{"x"}}}, Text: "valid", Flag: new(true), Number: 1, Labels: map[string]string{"k": "v"}, Size: resource.MustParse("1"), Part: &part{"x"},
		}, want: []string{
			`mode=b`, `mode=`, `items is removed`, `items[0].name=other`, `items[0].name=`, `items[+]={"name":"sample"}`, `items[+].name=other`, `items[+].name=`,
			`flag is removed`, `flag=false`, `number=2`, `number=0`, `labels[k] is removed`, `labels[k]=other`, `labels[k]=`, `labels[+]=other`,
			`part is removed`, `part.name=other`, `part.name=`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			before := name + cmp.Diff(nil, tc.of.Labels) + cmp.Diff(nil, tc.of.Items)
			variants, err := Of(tc.of, values)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range variants {
				got = append(got, v.Name())
				if reflect.DeepEqual(v.Value, tc.of) {
					t.Errorf("%s changes nothing", v.Name())
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
			if after := name + cmp.Diff(nil, tc.of.Labels) + cmp.Diff(nil, tc.of.Items); before != after {
				t.Errorf("the original was changed:\n%s", after)
			}
		})
	}
}

// A type of Kubernetes whose values are not known is no gap, but an error.
func TestUnknownType(t *testing.T) {
	if _, err := Of(outer{}, Values{}); err == nil || !strings.Contains(err.Error(), "variants.mode (mode)") || !strings.Contains(err.Error(), "resource.Quantity (size)") {
		t.Errorf("got %v, want an error that names the types", err)
	}
}

// Every field of an ephemeral container is found.
func TestEphemeralContainer(t *testing.T) {
	variants, err := Of(corev1.EphemeralContainer{}, Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, v := range variants {
		name, _, _ := strings.Cut(v.Path, ".")
		name, _, _ = strings.Cut(name, "[")
		found[name] = true
	}
	for field := range reflect.TypeFor[corev1.EphemeralContainerCommon]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !found[name] {
			t.Errorf("no variant changes %s", name)
		}
	}
}
