package funcs

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// verb is a step without the context that the framework hands on: the steps of
// a feature share variables of its test instead.
func verb(do func(ctx context.Context, t *testing.T, c *cluster)) features.Func {
	return func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
		t.Helper()
		c, err := clusterOf(cfg)
		if err != nil {
			t.Fatal(err)
		}
		do(ctx, t, c)
		return ctx
	}
}

// All runs verbs one after the other, as one step.
func All(verbs ...features.Func) features.Func {
	return func(ctx context.Context, t *testing.T, cfg *envconf.Config) context.Context {
		t.Helper()
		for _, v := range verbs {
			v(ctx, t, cfg)
		}
		return ctx
	}
}

// until is a verb that waits until nothing is missing.
func until(missing func(ctx context.Context, c *cluster) error) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		eventually(ctx, t, func(ctx context.Context) error { return missing(ctx, c) })
	})
}

// group lists what a verb is about. That there is none is an error: what is
// asserted of each would hold for want of any.
type group[T any] func(ctx context.Context, c *cluster) ([]T, error)

// all waits for the list: an API server may not answer once.
func (g group[T]) all(ctx context.Context, t *testing.T, c *cluster) []T {
	t.Helper()
	return answer(ctx, t, func(ctx context.Context) ([]T, error) { return g(ctx, c) })
}

// podsOf are the pods with the label that are not about to go.
func podsOf(namespace, label string) group[corev1.Pod] {
	return func(ctx context.Context, c *cluster) ([]corev1.Pod, error) {
		pods, err := c.pods(ctx, namespace, label)
		if err == nil && len(pods) == 0 {
			err = fmt.Errorf("no pod of namespace %s has %s", namespace, label)
		}
		return pods, err
	}
}

// attachmentsOf are the attachments of a namespace.
func attachmentsOf(namespace string) group[v1alpha1.JmxAttachment] {
	return func(ctx context.Context, c *cluster) ([]v1alpha1.JmxAttachment, error) {
		all, err := c.attachments(ctx, namespace)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("there are no attachments in namespace %s", namespace)
		}
		return all, err
	}
}

// each is a verb that is done to each as it is now.
func (g group[T]) each(do func(ctx context.Context, t *testing.T, c *cluster, one *T)) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		all := g.all(ctx, t, c)
		for i := range all {
			do(ctx, t, c, &all[i])
		}
	})
}

// untilEach is a verb that waits until nothing is missing in any, at one look.
func (g group[T]) untilEach(missing func(ctx context.Context, c *cluster, one *T) error) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		all, err := g(ctx, c)
		if err != nil {
			return err
		}
		for i := range all {
			if err := missing(ctx, c, &all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
