package funcs

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// ConditionWithReason waits until the condition of so many attachments, of all
// that there are, does not hold for a reason, says these words, and is told by a
// Warning Event. What needs a person stalls the exporter.
func ConditionWithReason(namespace string, attachments int, phase v1alpha1.Phase, reason string, words ...string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		records, err := c.attachments(ctx, namespace)
		if err != nil {
			return err
		}
		if len(records) != attachments {
			return fmt.Errorf("%d attachments are there, not %d", len(records), attachments)
		}
		for i := range records {
			if err := c.refused(ctx, &records[i], phase, reason, words); err != nil {
				return err
			}
		}
		return nil
	})
}

// ConditionTrue waits until the condition of each attachment holds, and says these
// words.
func ConditionTrue(namespace string, phase v1alpha1.Phase, words ...string) features.Func {
	return attachmentsOf(namespace).untilEach(func(_ context.Context, _ *cluster, r *v1alpha1.JmxAttachment) error {
		condition := meta.FindStatusCondition(r.Status.Conditions, string(phase))
		if condition == nil || condition.Status != metav1.ConditionTrue {
			return fmt.Errorf("%s: %s is %+v, not True", r.Spec.Pod.Name, phase, condition)
		}
		return says(r.Spec.Pod.Name, condition.Message, words)
	})
}

func (c *cluster) refused(ctx context.Context, r *v1alpha1.JmxAttachment, phase v1alpha1.Phase, reason string, words []string) error {
	condition := meta.FindStatusCondition(r.Status.Conditions, string(phase))
	switch {
	case condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != reason:
		return fmt.Errorf("%s: %s %s: %s is %+v, not False %s", r.Spec.Pod.Name, r.Status.Phase, r.Status.Reason, phase, condition, reason)
	case r.Status.Reason != reason:
		return fmt.Errorf("%s: status.reason is %s, not %s", r.Spec.Pod.Name, r.Status.Reason, reason)
	case r.Status.Attempt == nil:
		return fmt.Errorf("%s: no attempt is recorded", r.Spec.Pod.Name)
	}
	if err := says(r.Spec.Pod.Name, condition.Message, words); err != nil {
		return err
	}
	if err := c.hasEvent(ctx, r.Namespace, r.Name, corev1.EventTypeWarning, reason); err != nil {
		return err
	}
	if !v1alpha1.NeedsPerson(reason) {
		return nil
	}
	e, err := c.exporter(ctx, r.Namespace, r.Spec.Exporter.Name)
	if err != nil {
		return err
	}
	stalled := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || !strings.Contains(stalled.Message, reason) || e.Status.Refused == 0 {
		return fmt.Errorf("exporter %s: %d refused, Stalled is %+v, which does not tell %s", e.Name, e.Status.Refused, stalled, reason)
	}
	return nil
}

// Patience waits until each record says how long taking out is tried.
func Patience(namespace, timeout string) features.Func {
	return attachmentsOf(namespace).untilEach(func(_ context.Context, _ *cluster, r *v1alpha1.JmxAttachment) error {
		if have := r.Status.DetachTimeout.Duration.String(); have != timeout {
			return fmt.Errorf("%s: status.detachTimeout is %s, not %s", r.Spec.Pod.Name, have, timeout)
		}
		return nil
	})
}

// NoRecord waits until no record is left in a namespace, whatever its exporter is.
func NoRecord(namespace string) features.Func {
	return until(func(ctx context.Context, c *cluster) error {
		all, err := c.attachments(ctx, namespace)
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("%d records are left, the first %s %s", len(all), all[0].Status.Phase, all[0].Status.Reason)
		}
		return err
	})
}

// RecordsRebuilt deletes the records of a namespace by hand, and waits until the
// operator has made others in their place.
func RecordsRebuilt(namespace string) features.Func {
	gone := map[types.UID]bool{}
	return All(
		attachmentsOf(namespace).each(func(ctx context.Context, t *testing.T, c *cluster, r *v1alpha1.JmxAttachment) {
			t.Helper()
			gone[r.UID] = true
			if err := c.remove(ctx, r); err != nil {
				t.Fatal(err)
			}
		}),
		until(func(ctx context.Context, c *cluster) error {
			now, err := c.attachments(ctx, namespace)
			if err != nil {
				return err
			}
			for _, r := range now {
				if gone[r.UID] {
					return fmt.Errorf("%s is still there", r.Name)
				}
			}
			if len(now) != len(gone) {
				return fmt.Errorf("%d records are there, not %d", len(now), len(gone))
			}
			return nil
		}),
	)
}

func (c *cluster) attachments(ctx context.Context, namespace string) ([]v1alpha1.JmxAttachment, error) {
	var list v1alpha1.JmxAttachmentList
	err := c.List(ctx, &list, client.InNamespace(namespace))
	return list.Items, err
}

// HandedOver does something, and waits until the records of a namespace, the same
// ones, are those of another exporter.
func HandedOver(namespace, exporter string, do features.Func) features.Func {
	before := map[types.UID]bool{}
	return All(
		attachmentsOf(namespace).each(func(_ context.Context, _ *testing.T, _ *cluster, r *v1alpha1.JmxAttachment) { before[r.UID] = true }),
		do,
		attachmentsOf(namespace).untilEach(func(_ context.Context, _ *cluster, r *v1alpha1.JmxAttachment) error {
			if !before[r.UID] || r.Spec.Exporter.Name != exporter {
				return fmt.Errorf("%s (%s) is of exporter %s, not %s, or was made anew", r.Name, r.UID, r.Spec.Exporter.Name, exporter)
			}
			return nil
		}),
	)
}
