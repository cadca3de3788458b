package funcs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// PrometheusOperator deploys prometheus-operator with its CRDs, from the manifests of its
// module, until the feature ends. It belongs into a Setup.
func (s *Suite) PrometheusOperator(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		objects, err := s.prometheusOperator(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		c.assertNotInstalled(ctx, t, objects)
		c.applyUntilEnd(ctx, t, objects, namespace)
	})
}

// Monitored applies a kustomization of monitors until the step ends, and waits until they
// are gone then.
func (s *Suite) Monitored(kustomization string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		objects, err := s.build(ctx, kustomization)
		if err != nil {
			t.Fatal(err)
		}
		c.applyUntilEnd(ctx, t, objects, "")
	})
}

// prometheusOperator is the bundle of its module, in a namespace and with our images.
func (s *Suite) prometheusOperator(ctx context.Context, namespace string) ([]*unstructured.Unstructured, error) {
	const module = "github.com/prometheus-operator/prometheus-operator"
	if _, err := s.output(ctx, "go", "-C", "hack/tools/prometheus-operator", "mod", "download", module); err != nil {
		return nil, err
	}
	folder, err := s.output(ctx, "go", "-C", "hack/tools/prometheus-operator", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, err
	}
	objects, err := s.build(ctx, strings.TrimSpace(folder))
	for _, object := range objects {
		if err != nil {
			break
		}
		if object.GetNamespace() != "" {
			object.SetNamespace(namespace)
		}
		switch object.GetKind() {
		case "ClusterRoleBinding":
			err = changeFirst(object, map[string]any{"namespace": namespace}, "subjects")
		case "Deployment":
			// Not the kubelets' Endpoints, which it would write into kube-system.
			err = changeFirst(object, map[string]any{
				"image": "prometheus-operator:dev", "args": []any{"--prometheus-config-reloader=prometheus-config-reloader:dev"},
			}, "spec", "template", "spec", "containers")
		}
	}
	return objects, err
}

// changeFirst sets fields of the first item of a list.
func changeFirst(object *unstructured.Unstructured, fields map[string]any, path ...string) error {
	items, ok, err := unstructured.NestedSlice(object.Object, path...)
	if err == nil && !ok {
		err = fmt.Errorf("%s %s has no %s", object.GetKind(), object.GetName(), strings.Join(path, "."))
	}
	if err != nil {
		return err
	}
	maps.Copy(items[0].(map[string]any), fields)
	return unstructured.SetNestedSlice(object.Object, items, path...)
}

// assertNotInstalled asserts that nobody else has objects of these names: they would be
// overwritten, and deleted in the end. What an interrupted run has left is ours.
func (c *cluster) assertNotInstalled(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		there := object.DeepCopy()
		eventually(ctx, t, func(ctx context.Context) error {
			return client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), there))
		})
		if there.GetUID() != "" && !slices.ContainsFunc(there.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager == string(fieldManager) }) {
			t.Fatalf("the cluster has %s %s already: this feature needs one without prometheus-operator", object.GetKind(), object.GetName())
		}
	}
}

// applyUntilEnd applies objects, and deletes them when the test ends.
func (c *cluster) applyUntilEnd(ctx context.Context, t *testing.T, objects []*unstructured.Unstructured, namespace string) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		for _, object := range slices.Backward(objects) {
			if err := await(ctx, patience, func(ctx context.Context) error {
				return client.IgnoreNotFound(notGone(c.Delete(ctx, object), object.GetKind()+" "+object.GetName()))
			}); err != nil {
				t.Errorf("cannot delete %s %s: %v", object.GetKind(), object.GetName(), err)
			}
		}
	})
	for _, object := range objects {
		if err := c.apply(ctx, object, fieldManager, namespace); err != nil {
			t.Fatal(err)
		}
	}
}
