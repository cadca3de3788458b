package funcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// fieldManager owns what the features apply.
const fieldManager = client.FieldOwner("e2e")

// Apply applies manifests by server-side apply; NAMESPACE in them stands for
// the namespace. What they hold beside the namespace, such as a policy, is
// deleted when the test of this step ends: apply that in a Setup.
func Apply(namespace string, files ...string) features.Func {
	return ApplyAs(string(fieldManager), namespace, files...)
}

// ApplyAs applies manifests as another field manager.
func ApplyAs(manager, namespace string, files ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := eachObject(namespace, files, func(object *unstructured.Unstructured) error {
			if err := c.apply(ctx, object, client.FieldOwner(manager), namespace); err != nil {
				return err
			}
			if object.GetNamespace() == "" {
				t.Cleanup(func() {
					if err := await(context.WithoutCancel(ctx), patience, func(ctx context.Context) error {
						return client.IgnoreNotFound(c.Delete(ctx, object))
					}); err != nil {
						t.Errorf("cannot delete %s %s: %v", object.GetKind(), object.GetName(), err)
					}
				})
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// Delete deletes what manifests name, and waits until it is gone.
func Delete(namespace string, files ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := eachObject(namespace, files, func(object *unstructured.Unstructured) error {
			if err := c.place(object, namespace); err != nil {
				return err
			}
			return await(ctx, patience, func(ctx context.Context) error {
				return client.IgnoreNotFound(notGone(c.Delete(ctx, object), object.GetKind()+" "+object.GetName()))
			})
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// TooLarge puts a configuration larger than 256 KiB into the sample's ConfigMap.
func TooLarge(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		objects, err := decode(`{apiVersion: v1, kind: ConfigMap, metadata: {name: prometheus-jmx-exporter-config}}`)
		if err != nil {
			t.Fatal(err)
		}
		objects[0].Object["data"] = map[string]any{"config.yaml": fmt.Sprintf("rules: []\n# %0*d\n", 256<<10, 0)}
		if err := c.apply(ctx, objects[0], fieldManager, namespace); err != nil {
			t.Fatal(err)
		}
	})
}

// apply states the object as its manifest does; what somebody else has stated
// in the fields of it is taken over. It waits until that is done: its kind may not
// be known yet, or an API server not answer once.
func (c *cluster) apply(ctx context.Context, object *unstructured.Unstructured, owner client.FieldOwner, namespace string) error {
	return await(ctx, patience, func(ctx context.Context) error {
		if err := c.place(object, namespace); err != nil {
			return err
		}
		// An apply writes the server's answer into what it is given.
		return c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), owner, client.ForceOwnership)
	})
}

// place puts an object that has no namespace into the given one, if its kind
// has namespaces.
func (c *cluster) place(object *unstructured.Unstructured, namespace string) error {
	mapping, err := c.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return nil
}

// eachObject does something with each object of manifests, as they stand there.
func eachObject(namespace string, files []string, do func(object *unstructured.Unstructured) error) error {
	for _, file := range files {
		objects, err := read(file, namespace)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := do(object); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

func read(file, namespace string) ([]*unstructured.Unstructured, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	objects, err := decode(strings.ReplaceAll(string(data), "NAMESPACE", namespace))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return objects, nil
}

func decode(text string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}
