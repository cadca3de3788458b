package funcs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// KilledMidway applies manifests, and kills the operator with SIGKILL as soon as
// an agent is about to be loaded in the first of so many pods.
func (s *Suite) KilledMidway(namespace string, pods int, files ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		operator := c.theOperator(ctx, t)
		if err := eachObject(namespace, files, func(object *unstructured.Unstructured) error {
			return c.apply(ctx, object, fieldManager, namespace)
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.ranThrough(ctx, c, operator); err != nil {
			t.Fatal(err)
		}
		s.acquaint(operator)
		c.firstIntent(ctx, t, namespace)
		if err := c.kill(ctx, operator, "manager"); err != nil {
			t.Fatal(err)
		}
		s.kills++
		done, phases := 0, map[v1alpha1.Phase]int{}
		records := attachmentsOf(namespace).all(ctx, t, c)
		for _, r := range records {
			phases[r.Status.Phase]++
			if r.Status.Phase == v1alpha1.PhaseAnnotated {
				done++
			}
		}
		t.Logf("when the operator was killed the pods were %v", phases)
		if done == pods {
			t.Fatal("the operator was killed too late to prove anything")
		}
		eventually(ctx, t, func(ctx context.Context) error {
			var now corev1.Pod
			if err := c.Get(ctx, client.ObjectKeyFromObject(operator), &now); err != nil {
				return err
			}
			if restarts(now) <= restarts(*operator) {
				return fmt.Errorf("the operator was restarted %d times, before %d", restarts(now), restarts(*operator))
			}
			return nil
		})
	})
}

// firstIntent waits for the first record that says that a load is about to happen.
func (c *cluster) firstIntent(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	if err := awaitEvery(ctx, patience, 20*time.Millisecond, func(ctx context.Context) error {
		records, err := c.attachments(ctx, namespace)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(records, func(r v1alpha1.JmxAttachment) bool {
			return len(r.Status.Processes) > 0 && r.Status.Processes[0].Intent != nil
		}) {
			return errors.New("no load was begun")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// OperatorReplaced deletes the operator's pod, and waits until another one has
// looked at so many records. No feature runs beside this one.
func (s *Suite) OperatorReplaced(records int) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		before := c.theOperator(ctx, t)
		if err := c.remove(ctx, before); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
				return err
			}
			now, err := c.operator(ctx)
			if err != nil {
				return err
			}
			if now.UID == before.UID {
				return errors.New("the operator is there as before")
			}
			s.acquaint(now)
			measured, err := c.measured(ctx)
			if err != nil {
				return err
			}
			looked := measured.sum(`controller_runtime_reconcile_total{controller="jmxattachment"`)
			if waits := measured.sum(`workqueue_depth{controller="jmxattachment"`); looked < float64(records) || waits > 0 {
				return fmt.Errorf("the operator has looked at records %v times, %v wait", looked, waits)
			}
			return nil
		})
	})
}
