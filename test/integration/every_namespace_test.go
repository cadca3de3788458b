package integration

import (
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// config/samples/every-namespace, as GitOps applies it to each of several namespaces: its
// exporter attaches to the pods that its expressions select, and to no other.
func TestEveryNamespace(t *testing.T) {
	t.Parallel()
	const folder = "config/samples/every-namespace"
	for range 2 {
		c := newCluster(t)
		o := c.operate()
		for _, object := range built(t, folder) {
			object.SetNamespace(c.namespace)
			strict := client.WithFieldValidation(admin, metav1.FieldValidationStrict)
			if err := strict.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("gitops")); err != nil {
				t.Fatal(err)
			}
		}
		labeled := func(name string, labels map[string]string) *corev1.Pod {
			p := aPod(name)
			p.pod.Labels = labels
			return c.run(p)
		}
		selected := labeled("selected", map[string]string{"runtime": "kotlin"})
		labeled("disabled", map[string]string{"runtime": "java", "jmx-exporter": "disabled"})
		labeled("other", map[string]string{"runtime": "go"})
		labeled("unlabeled", nil)
		o.outlast()
		if a := c.attachment(selected); a == nil || a.Status.Phase != v1alpha1.PhaseAnnotated {
			t.Errorf("the selected pod is %s, want Annotated", phaseOf(a))
		}
		var records v1alpha1.JmxAttachmentList
		if c.list(&records); len(records.Items) != 1 {
			t.Errorf("got %d records, want 1", len(records.Items))
		}
	}

	text, err := os.ReadFile("../../" + folder + "/applicationset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var set struct {
		Spec struct {
			Template struct {
				Spec struct{ Source struct{ Path string } }
			}
		}
	}
	if err := yaml.Unmarshal(text, &set); err != nil || set.Spec.Template.Spec.Source.Path != folder {
		t.Errorf("the ApplicationSet deploys %q, error %v", set.Spec.Template.Spec.Source.Path, err)
	}
}
