package funcs

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Restricted asserts that the operator's namespace enforces the restricted Pod
// Security Standard, and that the operator runs in it all the same.
func Restricted() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var namespace corev1.Namespace
		eventually(ctx, t, func(ctx context.Context) error {
			return c.Get(ctx, client.ObjectKey{Name: OperatorNamespace}, &namespace)
		})
		if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
			t.Errorf("namespace %s enforces %q, not restricted", namespace.Name, level)
		}
		if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
			t.Error(err)
		}
		operator := c.theOperator(ctx, t)
		// What would run here with more than that is refused: the label counts.
		more := operator.DeepCopy()
		more.ObjectMeta = namespaceOnly(operator)
		more.Spec.NodeName = ""
		more.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		eventually(ctx, t, func(ctx context.Context) error {
			err := c.Create(ctx, more.DeepCopy(), client.DryRunAll)
			if err == nil {
				t.Fatal("a pod with privilege escalation is not refused")
			}
			if !apierrors.IsForbidden(err) {
				return fmt.Errorf("a pod with privilege escalation is not refused, but: %w", err)
			}
			return nil
		})
		same := operator.DeepCopy()
		same.ObjectMeta = namespaceOnly(operator)
		same.Spec.NodeName = ""
		eventually(ctx, t, func(ctx context.Context) error {
			if err := c.Create(ctx, same.DeepCopy(), client.DryRunAll); err != nil {
				return fmt.Errorf("the operator's own pod is refused: %w", err)
			}
			return nil
		})
	})
}

func namespaceOnly(pod *corev1.Pod) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: "try-"}
}

// Untended asserts that no operator has said anything about an exporter.
func Untended(namespace, exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		e := answer(ctx, t, func(ctx context.Context) (*v1alpha1.PrometheusJmxExporter, error) {
			return c.exporter(ctx, namespace, exporter)
		})
		records := answer(ctx, t, func(ctx context.Context) ([]v1alpha1.JmxAttachment, error) {
			return c.attachments(ctx, namespace)
		})
		if e.Status.ObservedGeneration > 0 || len(records) > 0 {
			t.Fatalf("an operator has looked at exporter %s: %+v", exporter, e.Status)
		}
	})
}
