package funcs

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"
)

// Restricted asserts that the operator's namespace enforces the restricted Pod
// Security Standard, and that the operator runs in it all the same.
func Restricted() features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var namespace corev1.Namespace
		if err := c.Get(ctx, client.ObjectKey{Name: OperatorNamespace}, &namespace); err != nil {
			t.Fatal(err)
		}
		if level := namespace.Labels["pod-security.kubernetes.io/enforce"]; level != "restricted" {
			t.Errorf("namespace %s enforces %q, not restricted", namespace.Name, level)
		}
		if err := c.operatorReady(ctx, OperatorNamespace); err != nil {
			t.Error(err)
		}
		operator, err := c.operator(ctx)
		if err != nil {
			t.Fatal(err)
		}
		// What would run here with more than that is refused: the label counts.
		more := operator.DeepCopy()
		more.ObjectMeta = namespaceOnly(operator)
		more.Spec.NodeName = ""
		more.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = new(true)
		if err := c.Create(ctx, more, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("a pod with privilege escalation is not refused: %v", err)
		}
		same := operator.DeepCopy()
		same.ObjectMeta = namespaceOnly(operator)
		same.Spec.NodeName = ""
		if err := c.Create(ctx, same, client.DryRunAll); err != nil {
			t.Errorf("the operator's own pod is refused: %v", err)
		}
	})
}

func namespaceOnly(pod *corev1.Pod) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: "try-"}
}

// Untended asserts that no operator has said anything about an exporter.
func Untended(namespace, exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		e, err := c.exporter(ctx, namespace, exporter)
		if err != nil {
			t.Fatal(err)
		}
		records, err := c.attachments(ctx, namespace)
		if err != nil {
			t.Fatal(err)
		}
		if e.Status.ObservedGeneration != 0 || len(records) > 0 {
			t.Fatalf("an operator has looked at exporter %s: %+v", exporter, e.Status)
		}
	})
}
