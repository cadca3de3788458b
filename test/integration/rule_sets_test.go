package integration

import (
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// The exporter that docs/rule-sets.md shows is accepted for each rule set of config/rules.
// That the rules make the right metrics, test/applications shows.
func TestRuleSets(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := c.operate()
	shown := regexp.MustCompile("(?s)```yaml\n(apiVersion: banzaicloud.*?)```").FindStringSubmatch(readFile(t, "../../docs/rule-sets.md"))
	if shown == nil {
		t.Fatal("the page shows no exporter")
	}
	names := map[string]bool{}
	for _, object := range c.kustomize("namespace: " + c.namespace + "\nresources: [CONFIG/rules]\n") {
		applyStrictly(t, object)
		names[object.GetName()] = true
	}
	var exporter v1alpha1.PrometheusJmxExporter
	if err := yaml.UnmarshalStrict([]byte(shown[1]), &exporter); err != nil {
		t.Fatal(err)
	}
	if !names[exporter.Spec.Config.ConfigMapName] {
		t.Fatalf("the exporter names the ConfigMap %s, want one of %v", exporter.Spec.Config.ConfigMapName, names)
	}
	for name := range names {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(shown[1]), &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetName(name)
		object.SetNamespace(c.namespace)
		if err := unstructured.SetNestedField(object.Object, name, "spec", "config", "configMapName"); err != nil {
			t.Fatal(err)
		}
		applyStrictly(t, object)
	}
	o.settle()
	for name := range names {
		e := &v1alpha1.PrometheusJmxExporter{ObjectMeta: c.named(name)}
		get(t, e)
		condition := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionConfigValid)
		if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != v1alpha1.ReasonValid {
			t.Errorf("%s: condition ConfigValid: %v", name, condition)
		}
	}
}
