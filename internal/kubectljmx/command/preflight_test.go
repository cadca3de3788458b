package command

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// -l selects what kubectl get -l selects.
func TestSelected(t *testing.T) {
	t.Parallel()
	pods := []labels.Set{{}, {"app": "a"}, {"app": "b"}, {"app": "a", "tier": "front"}, {"app": "c", "tier": ""}}
	for _, text := range []string{"app=a", "app==a", "app!=a", "app in (a,b)", "app notin (a,b)", "app", "!app", "app=a,app=b", "app=a,tier", "tier=", "app in (a,b),!tier"} {
		kubectl, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		selector, err := selected(text)
		if err != nil {
			t.Errorf("-l %s: %v", text, err)
			continue
		}
		spec := v1alpha1.PrometheusJmxExporterSpec{Selector: selector}
		for _, pod := range pods {
			if got, want := spec.Selects(pod), kubectl.Matches(pod); got != want {
				t.Errorf("-l %s selects %v: %t, want %t", text, pod, got, want)
			}
		}
	}
}
