package funcs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/internal/shard"
)

// release is the name of the release of ChartReleased.
const release = "jmx-exporter-operator"

// ChartReleased installs or upgrades a release of the chart, packaged with an image and the
// policies of its build, and waits for the operator.
func (s *Suite) ChartReleased(action, image string) features.Func {
	return s.helm(func(ctx context.Context) ([]string, error) {
		chart, err := s.chart(ctx, image)
		args := []string{action, release, chart}
		switch action {
		case "install":
			args = append(args, "--create-namespace")
		case "upgrade":
			args = append(args, "--reset-values") // Helm would keep those of ChartSharded
		}
		return args, err
	})
}

// chart packages the chart, and returns its file.
func (s *Suite) chart(ctx context.Context, image string) (string, error) {
	version, policies := "0.1.0", "config/policies"
	if strings.HasSuffix(image, ":next") {
		version, policies = "0.2.0", "bin/next/policies"
	}
	err := s.run(ctx, "env", "DIST=bin/charts", "POLICIES="+policies, "hack/chart", "package", "v"+version, image)
	return filepath.Join("bin", "charts", release+"-"+version+".tgz"), err
}

// ChartSharded divides the namespaces between operators with the image and the policies of a
// build, and waits until each leads in its own.
func (s *Suite) ChartSharded(shards int, image string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		chart, err := s.chart(ctx, image)
		if err == nil {
			err = s.runHelm(ctx, "upgrade", release, chart, fmt.Sprintf("--set=shards=%d", shards), "--wait")
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range shards {
			name := shard.Shard{Index: i, Total: shards}.LeaseName(operatorName)
			if err := await(ctx, patience, func(ctx context.Context) error {
				var lease coordinationv1.Lease
				err := c.Get(ctx, client.ObjectKey{Namespace: OperatorNamespace, Name: name}, &lease)
				if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); err == nil && !strings.HasSuffix(holder, fmt.Sprintf("_%d-of-%d", i, shards)) {
					return fmt.Errorf("the holder of Lease %s is %q, not shard %d of %d", name, holder, i, shards)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// ChartRolledBack takes the release back to its first revision, and waits for the operator.
func (s *Suite) ChartRolledBack() features.Func {
	return s.helm(func(context.Context) ([]string, error) { return []string{"rollback", release, "1"}, nil })
}

func (s *Suite) helm(args func(context.Context) ([]string, error)) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		of, err := args(ctx)
		if err == nil {
			err = s.runHelm(ctx, append(of, "--wait")...)
		}
		if err := errors.Join(err, c.operatorReady(ctx, OperatorNamespace), s.acquainted(ctx, c)); err != nil {
			t.Fatal(err)
		}
	})
}

func (s *Suite) runHelm(ctx context.Context, args ...string) error {
	path, err := s.output(ctx, "hack/binaries", "helm")
	if err != nil {
		return err
	}
	return s.run(ctx, strings.TrimSpace(path), append(args, "--namespace="+OperatorNamespace)...)
}

// ChartUninstalled removes the release, and asserts that of what config/default has, only the
// kinds are left, and the namespace, which no release owns.
func (s *Suite) ChartUninstalled() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		objects, err := s.build(ctx, "config/default")
		if err == nil {
			err = s.runHelm(ctx, "uninstall", release, "--wait")
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			kind := object.GetKind()
			stays := kind == "CustomResourceDefinition" || kind == "Namespace"
			if err := await(ctx, patience, func(ctx context.Context) error {
				err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
				switch {
				case apierrors.IsNotFound(err) && stays:
					return fmt.Errorf("%s %s is gone", kind, object.GetName())
				case apierrors.IsNotFound(err):
					return nil
				case err == nil && stays:
					return nil
				}
				return notGone(err, kind+" "+object.GetName())
			}); err != nil {
				t.Error(err)
			}
		}
	})
}
