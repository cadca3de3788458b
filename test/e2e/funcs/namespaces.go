package funcs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// labelFeature marks the namespaces of the features, with the run that made them:
// several may share a cluster.
const labelFeature = "jmx-exporter-operator/e2e"

var run = rand.String(8)

// NamespaceFor is the name of a new namespace for a feature.
func NamespaceFor(feature string) string { return "e2e-" + feature + "-" + rand.String(5) }

// InNamespace creates the namespace. When the feature ends it tells what is in
// it if the feature failed, and deletes it. It belongs into a Setup.
func InNamespace(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{labelFeature: run}}}
		// Its name is new: if it is there already, then by a try whose answer was lost.
		eventually(ctx, t, func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(c.Create(ctx, object))
		})
		t.Cleanup(func() {
			ctx := context.WithoutCancel(ctx)
			if t.Failed() {
				t.Log(c.diagnostics(ctx, namespace))
				if os.Getenv("E2E_KEEP") != "" {
					t.Logf("namespace %s is kept", namespace)
					return
				}
			}
			if err := await(ctx, patience, func(ctx context.Context) error {
				return client.IgnoreNotFound(c.Delete(ctx, object))
			}); err != nil {
				t.Errorf("cannot delete namespace %s: %v", namespace, err)
			}
		})
	})
}

// NamespaceGone deletes a namespace, and waits until it is gone with all that was in it.
func NamespaceGone(namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := c.remove(ctx, object); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
			if err == nil {
				return fmt.Errorf("namespace %s is still there: %+v", namespace, object.Status.Conditions)
			}
			return client.IgnoreNotFound(err)
		})
	})
}

// deleteNamespaces deletes the namespaces of this run, and the observer's when no
// other run has one.
func (c *cluster) deleteNamespaces(ctx context.Context) error {
	ours := client.HasLabels{labelFeature}
	return await(ctx, patience, func(ctx context.Context) error {
		var list corev1.NamespaceList
		if err := c.List(ctx, &list, ours); err != nil {
			return err
		}
		others := slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool {
			return n.Labels[labelFeature] != run && n.Name != observerNamespace
		})
		var left []string
		for _, namespace := range list.Items {
			if namespace.Labels[labelFeature] != run && (namespace.Name != observerNamespace || others) {
				continue
			}
			left = append(left, namespace.Name)
			if namespace.DeletionTimestamp.IsZero() {
				if err := c.Delete(ctx, &namespace); err != nil && !apierrors.IsNotFound(err) {
					return err
				}
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("namespaces are left: %v", left)
		}
		return nil
	})
}
