package health

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// A check with a new result triggers a reconciliation of its pod.
func TestSource(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	c := New(&prober{err: errSilent}, time.Nanosecond, clock.RealClock{})
	if err := c.Source().Start(ctx, queue); err != nil {
		t.Fatal(err)
	}
	c.Track(pod, address, []v1alpha1.JavaProcess{exposed("a")})
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	if got, shutdown := queue.Get(); shutdown || got.NamespacedName != pod {
		t.Errorf("reconciled: got %v; queue shut down: %t", got, shutdown)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the source ends with %v", err)
	}
}
