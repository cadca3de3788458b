package exporter

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
	"banzaicloud.com/jmx-exporter-operator/pkg/effects"
)

// slow is an API server that accepts each apply after a while.
type slow struct {
	accepting
	clock *testclock.FakePassiveClock
	takes time.Duration
}

// Apply implements client.Client.
func (s slow) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	s.clock.SetTime(s.clock.Now().Add(s.takes))
	return nil
}

// ControllerRevisions that could not be deleted are tried again, also if the next attempt is due by
// the time that the records are written: the queue takes a negative time for none, and nothing that
// waits for an earlier time would follow.
func TestTryDueWhileRecordsAreWritten(t *testing.T) {
	c := &cache{}
	c.fill("small", 1)
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID, pod.Labels = shop, "new", "new", map[string]string{"app": "small"}
	pod.Status.Phase = corev1.PodRunning
	c.objects = append(c.objects, pod)
	r, clock := c.reconciler(), testclock.NewFakePassiveClock(now)
	r.Clock, r.Writer = clock, records.New(apply.New(slow{clock: clock, takes: 2 * time.Second}, effects.Direct))
	exporter := c.objects[0].(*v1alpha1.PrometheusJmxExporter)
	k := r.kept.get(exporter, nil)
	k.names["unused"], k.deletes.failure, k.deletes.next = true, "it cannot be deleted", now.Add(time.Second)

	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(exporter)})
	if err != nil {
		t.Fatal(err)
	}
	if !clock.Now().After(k.deletes.next) {
		t.Fatal("no record was written")
	}
	if k.deletes.failure != "" && result.RequeueAfter <= 0 {
		t.Errorf("nothing is deleted, and the exporter is reconciled again after %s", result.RequeueAfter)
	}
}
