package funcs

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// ApplyByUser applies manifests as a user, and waits until the user may.
func ApplyByUser(user, namespace string, files ...string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		as := c.as(t, user)
		if err := eachObject(namespace, files, func(object *unstructured.Unstructured) error {
			return (&cluster{Client: as}).apply(ctx, object, fieldManager, namespace)
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// deleteInterval is the time between two pods that NextRefused deletes.
const deleteInterval = 20 * time.Second

// NextRefused deletes the pod with a label, and the one in its place, until one is refused
// with this reason: for a while, the operator goes by the answer it has about a user.
func NextRefused(namespace, label, reason string) features.Func {
	return verb(func(ctx context.Context, t *testing.T, c *cluster) {
		t.Helper()
		if err := awaitEvery(ctx, steps.AuthorityPeriod+patience, deleteInterval, func(ctx context.Context) error {
			pods, err := podsOf(namespace, label)(ctx, c)
			if err != nil {
				return err
			}
			records, err := c.attachments(ctx, namespace)
			if err != nil {
				return err
			}
			pod := &pods[0]
			i := slices.IndexFunc(records, func(r v1alpha1.JmxAttachment) bool { return r.Spec.Pod.UID == pod.UID })
			if i < 0 {
				return fmt.Errorf("%s has no record", pod.Name)
			}
			s := records[i].Status
			if s.Reason == reason {
				return nil
			}
			if s.Phase == v1alpha1.PhaseAnnotated {
				if err := c.remove(ctx, pod); err != nil {
					return err
				}
			}
			return fmt.Errorf("%s is %s %s, and not refused with %s", pod.Name, s.Phase, s.Reason, reason)
		}); err != nil {
			t.Fatal(err)
		}
	})
}
