package funcs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Exporter is the name of the exporter in config/samples.
const Exporter = "example-prom-jmx-exp"

// AllAnnotated waits until exactly so many pods are Annotated on a port, and
// everything says so: exporter, records, pods and EndpointSlices.
func AllAnnotated(namespace, exporter string, pods int, port int32) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		records, err := c.attachments(ctx, namespace)
		if err != nil {
			return err
		}
		return errors.Join(exporterReady(e, pods, pods), c.annotated(ctx, e, records, pods, port), c.published(ctx, e, pods, port))
	})
}

func exporterReady(e *v1alpha1.PrometheusJmxExporter, pods, endpoints int) error {
	want := fmt.Sprintf("%d/%d", pods, pods)
	switch {
	case e.Status.ObservedGeneration != e.Generation:
		return fmt.Errorf("exporter %s: the status is about generation %d, not %d", e.Name, e.Status.ObservedGeneration, e.Generation)
	case e.Status.Pods != want || e.Status.Phase != v1alpha1.PhaseAnnotated || e.Status.Refused != 0:
		return fmt.Errorf("exporter %s: %s with pods %s, %d refused; not Annotated with pods %s", e.Name, e.Status.Phase, e.Status.Pods, e.Status.Refused, want)
	case len(e.Status.MetricsEndpoints) != endpoints:
		return fmt.Errorf("exporter %s lists %d endpoints, not %d", e.Name, len(e.Status.MetricsEndpoints), endpoints)
	case !meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionReady),
		!meta.IsStatusConditionFalse(e.Status.Conditions, v1alpha1.ConditionReconciling),
		!meta.IsStatusConditionFalse(e.Status.Conditions, v1alpha1.ConditionStalled):
		return fmt.Errorf("exporter %s is not Ready and settled: %+v", e.Name, e.Status.Conditions)
	}
	return nil
}

func (c *cluster) annotated(ctx context.Context, e *v1alpha1.PrometheusJmxExporter, records []v1alpha1.JmxAttachment, pods int, port int32) error {
	mine := 0
	for _, r := range records {
		if r.Spec.Exporter.UID != e.UID {
			continue
		}
		mine++
		if r.Status.Phase != v1alpha1.PhaseAnnotated || r.Status.Reason != "" || r.Status.Processes[0].Port != port ||
			!meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("%s: %s %s", r.Spec.Pod.Name, r.Status.Phase, r.Status.Reason)
		}
		var pod corev1.Pod
		if err := c.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Pod.Name}, &pod); err != nil {
			return err
		}
		if err := scrapedOn(&pod, &r, port); err != nil {
			return err
		}
	}
	if mine != pods {
		return fmt.Errorf("%d attachments are there, not %d", mine, pods)
	}
	return nil
}

// ExporterCondition waits for a condition of an exporter that says these words.
func ExporterCondition(namespace, exporter, condition string, status metav1.ConditionStatus, reason string, words ...string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(e.Status.Conditions, condition)
		if found == nil || found.Status != status || found.Reason != reason {
			return fmt.Errorf("exporter %s: %s is %+v, not %s %s", exporter, condition, found, status, reason)
		}
		return says("exporter "+exporter, found.Message, words)
	})
}

// Observed waits until the exporter's status is about its spec.
func Observed(namespace, exporter string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		if e.Status.ObservedGeneration != e.Generation {
			return fmt.Errorf("exporter %s: the status is about generation %d, not %d", exporter, e.Status.ObservedGeneration, e.Generation)
		}
		return nil
	})
}

// AnotherSecond waits until what is created now is younger than the exporter by
// its time stamp, which has seconds only.
func AnotherSecond(namespace, exporter string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		if time.Since(e.CreationTimestamp.Time) < 2*time.Second {
			return errors.New("it is too young")
		}
		return nil
	})
}

// Patch merges a change into an exporter.
func Patch(namespace, exporter, change string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		c.patchExporter(ctx, t, namespace, exporter, change)
	})
}

func (c *cluster) patchExporter(ctx context.Context, t *testing.T, namespace, exporter, change string) {
	t.Helper()
	eventually(ctx, t, func(ctx context.Context) error {
		e := &v1alpha1.PrometheusJmxExporter{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: exporter}}
		return c.Client.Patch(ctx, e, client.RawPatch(types.MergePatchType, []byte(change)), fieldManager)
	})
}

// Changes does something, and waits until the exporter has another revision.
func Changes(namespace, exporter string, do features.Func) features.Func {
	var before string
	return All(
		verb(func(ctx context.Context, t *testing.T, c *cluster) {
			t.Helper()
			before = c.revision(ctx, t, namespace, exporter)
		}),
		do,
		until(func(ctx context.Context, c *cluster) error {
			e, err := c.exporter(ctx, namespace, exporter)
			if err == nil && e.Status.Revision == before {
				err = fmt.Errorf("exporter %s still has revision %s", exporter, before)
			}
			return err
		}),
	)
}

func (c *cluster) revision(ctx context.Context, t *testing.T, namespace, exporter string) string {
	t.Helper()
	return answer(ctx, t, func(ctx context.Context) (*v1alpha1.PrometheusJmxExporter, error) {
		return c.exporter(ctx, namespace, exporter)
	}).Status.Revision
}

func (c *cluster) exporter(ctx context.Context, namespace, name string) (*v1alpha1.PrometheusJmxExporter, error) {
	var e v1alpha1.PrometheusJmxExporter
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &e)
	return &e, err
}
