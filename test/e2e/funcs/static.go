package funcs

import (
	"context"
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// The node's own programs write where the kubelet of a kind node looks for static pods.
// It ignores names that begin with a dot.
const (
	addStaticPod    = `cd /etc/kubernetes/manifests && printf %s "$2" >".$1" && mv ".$1" "$1.json"`
	removeStaticPod = `rm -f "/etc/kubernetes/manifests/$1.json"`
)

// StaticPod runs the pod of a Deployment, after a change of that, as a static pod of
// some worker until the feature ends. It belongs into a Setup.
func StaticPod(namespace, file string, change func(*unstructured.Unstructured) error) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var manifest []byte
		if err := eachObject(namespace, []string{file}, func(object *unstructured.Unstructured) (err error) {
			if err := change(object); err != nil {
				return err
			}
			manifest, err = manifestOf(object, namespace)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		observers := podsOf(observerNamespace, observerLabel).all(ctx, t, c)
		onNode := func(ctx context.Context, script string, args ...string) error {
			command := append([]string{"nsenter", "--target", "1", "--mount", "--", "sh", "-c", script, "static"}, args...)
			return await(ctx, patience, func(ctx context.Context) error {
				_, err := c.observe(ctx, observers[0].Spec.NodeName, command...)
				return err
			})
		}
		t.Cleanup(func() {
			if err := onNode(context.WithoutCancel(ctx), removeStaticPod, namespace); err != nil {
				t.Error(err)
			}
		})
		if err := onNode(ctx, addStaticPod, namespace, string(manifest)); err != nil {
			t.Fatal(err)
		}
	})
}

// manifestOf is the pod of a Deployment, for the kubelet.
func manifestOf(object *unstructured.Unstructured, namespace string) ([]byte, error) {
	var d appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d); err != nil {
		return nil, err
	}
	pod := corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Namespace, pod.Name = namespace, d.Name
	return json.Marshal(pod)
}
