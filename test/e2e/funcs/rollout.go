package funcs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// Halted waits until the exporter says that the rollout of its revision was
// stopped, in these words: in its status, as Stalled, and by a Warning Event.
func Halted(namespace, exporter, reason string, words ...string) features.Func {
	return All(
		until(func(ctx context.Context, c *cluster) error {
			e, err := c.exporter(ctx, namespace, exporter)
			if err != nil {
				return err
			}
			halt := e.Status.Halt
			if halt == nil || halt.Reason != reason || halt.Revision != e.Status.Revision {
				return fmt.Errorf("exporter %s: status.halt is %+v, not %s for revision %s", exporter, halt, reason, e.Status.Revision)
			}
			return says("exporter "+exporter, halt.Message, words)
		}),
		ExporterCondition(namespace, exporter, v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, words...),
		ExporterTold(namespace, exporter, corev1.EventTypeWarning, reason),
	)
}

// OneRefused waits until exactly one record says this, and asserts that the
// others are Annotated with what they had before: their revision is another one.
func OneRefused(namespace string, pods int, phase v1alpha1.Phase, reason string, words ...string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		all, err := c.attachments(ctx, namespace)
		if err != nil {
			return err
		}
		var one *v1alpha1.JmxAttachment
		var others []v1alpha1.JmxAttachment
		for i := range all {
			if all[i].Status.Reason == reason {
				one = &all[i]
			} else {
				others = append(others, all[i])
			}
		}
		if one == nil || len(others) != pods-1 {
			return fmt.Errorf("of %d records, %d do not say %s; %d pods are expected", len(all), len(others), reason, pods)
		}
		for _, r := range others {
			if r.Status.Phase != v1alpha1.PhaseAnnotated || r.Spec.Revision == one.Spec.Revision || r.Status.Revision != others[0].Status.Revision {
				return fmt.Errorf("%s is %s %s at revision %s, and that refused has %s", r.Spec.Pod.Name, r.Status.Phase, r.Status.Reason, r.Spec.Revision, one.Spec.Revision)
			}
		}
		condition := meta.FindStatusCondition(one.Status.Conditions, string(phase))
		if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != reason {
			return fmt.Errorf("%s: %s is %+v, not False %s", one.Spec.Pod.Name, phase, condition, reason)
		}
		if err := says(one.Spec.Pod.Name, condition.Message, words); err != nil {
			return err
		}
		return c.hasEvent(ctx, namespace, one.Name, corev1.EventTypeWarning, reason)
	})
}

// Waiting waits until, of the records of that many pods, so many have this reason.
func Waiting(namespace string, pods, waiting int, reason string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		all, err := c.attachments(ctx, namespace)
		if err != nil {
			return err
		}
		found := 0
		for _, r := range all {
			if r.Status.Reason == reason {
				found++
			}
		}
		if len(all) != pods || found != waiting {
			return fmt.Errorf("%d of %d records say %s, not %d of %d", found, len(all), reason, waiting, pods)
		}
		return nil
	})
}

// FirstEnds kills the JVM of the one pod that is Annotated, and waits until the
// exporter says so: the rollout stops, and names pod and exit code.
func FirstEnds(namespace, exporter string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		var first corev1.Pod
		eventually(ctx, t, func(ctx context.Context) error {
			all, err := c.attachments(ctx, namespace)
			if err != nil {
				return err
			}
			var annotated []v1alpha1.JmxAttachment
			for _, r := range all {
				if r.Status.Phase == v1alpha1.PhaseAnnotated {
					annotated = append(annotated, r)
				}
			}
			if len(annotated) != 1 {
				return fmt.Errorf("%d pods are Annotated, not one", len(annotated))
			}
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: annotated[0].Spec.Pod.Name}, &first)
		})
		if err := c.kill(ctx, &first, "java"); err != nil {
			t.Fatal(err)
		}
		eventually(ctx, t, func(ctx context.Context) error {
			e, err := c.exporter(ctx, namespace, exporter)
			if err != nil {
				return err
			}
			if e.Status.Halt == nil || !strings.Contains(e.Status.Halt.Message, first.Name) || !strings.Contains(e.Status.Halt.Message, "exit code 137") {
				return fmt.Errorf("status.halt is %+v, which does not name pod %s and exit code 137", e.Status.Halt, first.Name)
			}
			stalled := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionStalled)
			if stalled == nil || stalled.Message != e.Status.Halt.Message {
				return fmt.Errorf("the condition Stalled is %+v, and does not say what status.halt says", stalled)
			}
			t.Log(stalled.Message)
			return nil
		})
	})
}
