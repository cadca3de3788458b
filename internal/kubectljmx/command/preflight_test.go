package command

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// -l selects what kubectl get -l selects.
func TestSelected(t *testing.T) {
	t.Parallel()
	pods := []labels.Set{{}, {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "front"}, {"app": "c", "tier": ""}}
	for _, text := range []string{"app=a", "app==a", "app!=a", "app in (a,b)", "app notin (a,b)", "app", "!app", "app=a,app=b", "app=a,tier", "tier=", "app in (a,b),!tier", "app=a,!tier"} {
		kubectl, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := selected(text)
		if err != nil {
			t.Errorf("-l %s: %v", text, err)
			continue
		}
		if (spec.LabelSelector == nil) == (spec.Selector == nil) {
			t.Errorf("-l %s: got labelSelector %v and selector %v, want one of them", text, spec.LabelSelector, spec.Selector)
		}
		for _, pod := range pods {
			if got, want := spec.Selects(pod), kubectl.Matches(pod); got != want {
				t.Errorf("-l %s selects %v: %t, want %t", text, pod, got, want)
			}
		}
	}
}

// The exporter of labels alone has no selector, which CustomResourceDefinitions of older releases drop.
func TestSelectedByLabels(t *testing.T) {
	t.Parallel()
	spec, err := selected("app=a,tier==front")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]v1alpha1.LabelValue{"app": "a", "tier": "front"}; !maps.Equal(spec.LabelSelector, want) || spec.Selector != nil {
		t.Errorf("got labelSelector %v and selector %v, want %v and none", spec.LabelSelector, spec.Selector, want)
	}
}
