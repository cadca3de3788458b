package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/effects/effectstest"
	"banzaicloud.com/jmx-exporter-operator/pkg/operator"
)

// What the API server refuses comes about once it allows it, in its time: no event says so.
func TestDeploymentRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	none := corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.object.Namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: none},
	}
	w.must(admin.Create(t.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	w.must(admin.Status().Update(t.Context(), quota))
	allowed := func(ctx context.Context) bool {
		return admin.Create(ctx, w.foreignDeployment(), client.DryRunAll) == nil
	}
	eventually(t, func(ctx context.Context) (bool, error) { return !allowed(ctx), nil })
	w.reconcile()
	w.must(admin.Get(t.Context(), w.key(), w.object))
	w.is("Planned", "DeploymentRefused")
	if said := w.object.Status.Attempt.LastError; !strings.Contains(said, "exceeded quota: none") {
		t.Errorf("the last error is %q", said)
	}
	next := w.object.Status.Attempt.NextTime
	if next == nil || next.Sub(w.clock.Now()) > 3*time.Second {
		t.Fatalf("the first retry is at %v, and it is %v", next, w.clock.Now())
	}

	w.must(admin.Delete(t.Context(), quota))
	eventually(t, func(ctx context.Context) (bool, error) { return allowed(ctx), nil })
	w.clock.SetTime(next.Time)
	w.consumes()
}

func TestAPIError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.failure = func(what string) error {
		if strings.HasSuffix(what, string(owner)) {
			return apierrors.NewInternalError(errors.New("etcd is away"))
		}
		return nil
	}
	w.reconcile()
	w.must(admin.Get(t.Context(), w.key(), w.object))
	w.is("Planned", operator.ReasonAPIError)
	attempt := w.object.Status.Attempt
	if !strings.Contains(attempt.LastError, "etcd is away") || attempt.NextTime == nil {
		t.Fatalf("the attempt is %+v", attempt)
	}
	w.failure = nil
	w.clock.SetTime(attempt.NextTime.Time)
	w.consumes()
}

// Whatever effect the operator ends at on its way to the last phase, before or after it,
// another one comes to the same end.
func TestCrash(t *testing.T) {
	t.Parallel()
	recorded := newWorld(t)
	recorded.consumes()
	for _, a := range effectstest.Plan(recorded.did, effectstest.DiesBefore, effectstest.DiesAfter) {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.accident = a
			w.consumes()
			if !a.Happened() {
				t.Error("the effect did not come about again")
			}
		})
	}
}
