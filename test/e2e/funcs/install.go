package funcs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// Deployed deploys a kustomization of the operator into a namespace, and waits for it.
func (s *Suite) Deployed(kustomization, namespace string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := s.applyOperator(ctx, c, kustomization, namespace); err != nil {
			t.Fatal(err)
		}
		if err := c.operatorReady(ctx, namespace); err != nil {
			t.Fatal(err)
		}
	})
}

// DeployedInstead deploys a kustomization in place of config/default, with the rights
// of that one alone, until the feature ends. It belongs into a Setup.
func (s *Suite) DeployedInstead(kustomization string) features.Func {
	return All(s.PutBack(), s.withoutRightsBeyond(kustomization), s.withoutPoliciesBeyond(kustomization), s.Deployed(kustomization, OperatorNamespace))
}

// Installed installs the operator again, and waits for it.
func (s *Suite) Installed() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := s.install(ctx, c); err != nil {
			t.Fatal(err)
		}
	})
}

// PutBack puts the operator back as config/default has it when the feature ends.
// It belongs into a Setup.
func (s *Suite) PutBack() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Cleanup(func() {
			if err := s.install(context.WithoutCancel(ctx), c); err != nil {
				t.Error(err)
			}
		})
	})
}

func (s *Suite) install(ctx context.Context, c *cluster) error {
	if err := errors.Join(c.withoutNodeAgents(ctx), s.applyOperator(ctx, c, "config/default", OperatorNamespace)); err != nil {
		return err
	}
	if err := errors.Join(s.useImage(ctx, c), c.setFlags(ctx)); err != nil {
		return err
	}
	if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
		return err
	}
	return s.acquainted(ctx, c)
}

// Runs has the operator of config/default run another image, and waits for it.
func (s *Suite) Runs(image string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := c.changeOperator(ctx, OperatorNamespace, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Image = image
		}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.operatorReady(ctx, OperatorNamespace), s.acquainted(ctx, c)); err != nil {
			t.Fatal(err)
		}
	})
}

// Flags has the operator of config/default run with these flags until the feature
// ends. It belongs into a Setup.
func (s *Suite) Flags(flags ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		s.assertRanThrough(ctx, t, c)
		run := func(ctx context.Context, flags ...string) error {
			return errors.Join(
				c.setFlags(ctx, flags...),
				c.operatorReady(ctx, OperatorNamespace), s.acquainted(ctx, c))
		}
		t.Cleanup(func() {
			if err := run(context.WithoutCancel(ctx)); err != nil {
				t.Error(err)
			}
		})
		if err := run(ctx, flags...); err != nil {
			t.Fatal(err)
		}
	})
}

// setFlags has the operator of config/default run with these flags, and with the one that a kind
// of pod needs whose /tmp is a directory of the node.
func (c *cluster) setFlags(ctx context.Context, flags ...string) error {
	flags = append([]string{"--allow-host-paths=" + kinds.NoexecPath}, flags...)
	return c.changeOperator(ctx, OperatorNamespace, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = flags })
}

// Scaled scales the operator of config/default until the feature ends. It
// belongs into a Setup.
func (s *Suite) Scaled(replicas int32) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		s.assertRanThrough(ctx, t, c)
		t.Cleanup(func() {
			ctx := context.WithoutCancel(ctx)
			if err := c.scale(ctx, OperatorNamespace, 1); err != nil {
				t.Fatal(err)
			}
			if err := s.acquainted(ctx, c); err != nil {
				t.Fatal(err)
			}
		})
		if err := c.scale(ctx, OperatorNamespace, replicas); err != nil {
			t.Fatal(err)
		}
	})
}

func (c *cluster) scale(ctx context.Context, namespace string, replicas int32) error {
	if err := c.changeOperator(ctx, namespace, func(d *appsv1.Deployment) { d.Spec.Replicas = new(replicas) }); err != nil {
		return err
	}
	return c.operatorReady(ctx, namespace)
}

// Uninstalled deletes the operator's Deployment, and nothing else, and waits
// until no operator runs.
func (s *Suite) Uninstalled() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: OperatorNamespace, Name: operatorName}}
		if err := c.remove(ctx, d, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			var pods corev1.PodList
			if err := c.List(ctx, &pods, client.InNamespace(OperatorNamespace), client.MatchingLabels{operatorKey: operatorName}); err != nil {
				return err
			}
			if len(pods.Items) > 0 {
				return fmt.Errorf("%d operators still run", len(pods.Items))
			}
			return client.IgnoreNotFound(notGone(c.Get(ctx, client.ObjectKeyFromObject(d), d), "the Deployment"))
		})
	})
}

// Undeployed runs hack/undeploy, and asserts that nothing of the operator is left.
func (s *Suite) Undeployed() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		objects, err := s.build(ctx, "config/default")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.undeploy(ctx); err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			if err := await(ctx, patience, func(ctx context.Context) error {
				err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
				if err != nil && (apierrors.IsNotFound(err) || meta.IsNoMatchError(err)) {
					return nil
				}
				return notGone(err, object.GetKind()+" "+object.GetName())
			}); err != nil {
				t.Error(err)
			}
		}
	})
}

func (s *Suite) undeploy(ctx context.Context) error {
	path, err := s.output(ctx, "hack/binaries", "kubectl")
	if err != nil {
		return err
	}
	return s.run(ctx, "env", "KUBECTL="+strings.TrimSpace(path), "hack/undeploy")
}

func notGone(err error, what string) error {
	if err == nil {
		return fmt.Errorf("%s is still there", what)
	}
	return err
}
