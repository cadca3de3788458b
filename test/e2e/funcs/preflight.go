package funcs

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// PreflightFound waits until an exporter reports so many attachable pods, reasons by
// their counts, transports and load warnings.
func PreflightFound(namespace, exporter string, want v1alpha1.Preflight) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			return err
		}
		if e.Status.Preflight == nil {
			return fmt.Errorf("exporter %s reports no preflight", exporter)
		}
		found := e.Status.Preflight.DeepCopy()
		found.Memory = nil
		for i, r := range found.Reasons {
			found.Reasons[i] = v1alpha1.PreflightReason{Reason: r.Reason, Count: r.Count}
		}
		if !reflect.DeepEqual(*found, want) {
			return fmt.Errorf("exporter %s reports %+v, not %+v", exporter, *found, want)
		}
		return nil
	})
}

// Column waits until kubectl get shows this of an exporter in a column.
func Column(namespace, exporter, column, want string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		data, err := c.kube.Discovery().RESTClient().Get().
			AbsPath("apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", namespace, "prometheusjmxexporters", exporter).
			SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").DoRaw(ctx)
		if err != nil {
			return err
		}
		var table metav1.Table
		if err := json.Unmarshal(data, &table); err != nil {
			return err
		}
		i := slices.IndexFunc(table.ColumnDefinitions, func(d metav1.TableColumnDefinition) bool { return d.Name == column })
		if i < 0 || len(table.Rows) != 1 || table.Rows[0].Cells[i] != want {
			return fmt.Errorf("kubectl get shows %s, without %s in a column %s", data, want, column)
		}
		return nil
	})
}

// OnlyAnnotated waits until the pods with one of the labels, and no others, are
// Annotated on a port.
func OnlyAnnotated(namespace string, port int32, labels ...string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		want := map[string]corev1.Pod{}
		for _, label := range labels {
			pods, err := podsOf(namespace, label)(ctx, c)
			if err != nil {
				return err
			}
			for _, pod := range pods {
				want[pod.Name] = pod
			}
		}
		records, err := attachmentsOf(namespace)(ctx, c)
		if err != nil {
			return err
		}
		for _, r := range records {
			pod, ok := want[r.Spec.Pod.Name]
			if is := r.Status.Phase == v1alpha1.PhaseAnnotated; is != ok {
				return fmt.Errorf("%s: %s %s", r.Spec.Pod.Name, r.Status.Phase, r.Status.Reason)
			}
			if !ok {
				continue
			}
			if err := scrapedOn(&pod, &r, port); err != nil {
				return err
			}
		}
		return nil
	})
}
