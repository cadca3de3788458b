package attachment

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/internal/controller/selection"
)

// onePod is a cache with the pod app-0 that never catches up with the operator's writes.
type onePod struct{ client.Reader }

// Get implements client.Reader.
func (onePod) Get(_ context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if !(&client.GetOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency {
		return errors.New("waits forever")
	}
	if key != (client.ObjectKey{Namespace: "shop", Name: "app-0"}) {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	object.SetUID("uid-0")
	return nil
}

// freed are Limits that have capacity whenever they are called.
type freed struct {
	Limits
	wake func(namespace, pod string) bool
}

// OnRoom implements Limits.
func (f *freed) OnRoom(wake func(namespace, pod string) bool) { f.wake = wake }

// A pod that waited for an exec is reconciled as soon as there is capacity, by the name of
// its record; a pod that is gone is not.
func TestRoomWakes(t *testing.T) {
	limits := &freed{}
	r := &Reconciler{Reader: onePod{}, Limits: limits}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := r.room(func(string) bool { return false }).Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if limits.wake("shop", "gone-0") {
		t.Error("a pod that is gone keeps its place")
	}
	if !limits.wake("shop", "app-0") {
		t.Error("the pod that waited does not keep its place")
	}
	stalled := &freed{}
	if err := (&Reconciler{Reader: onePod{}, Limits: stalled}).room(func(string) bool { return true }).Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if stalled.wake("shop", "app-0") {
		t.Error("a pod whose request stays in the queue keeps its place")
	}
	pod := &corev1.Pod{}
	pod.Name, pod.UID = "app-0", "uid-0"
	if q.Len() != 1 {
		t.Fatalf("requested reconciliations: got %d, want 1", q.Len())
	}
	got, _ := q.Get()
	if diff := cmp.Diff(request("shop", selection.AttachmentName(pod)), got); diff != "" {
		t.Errorf("reconciled record (-want +got):\n%s", diff)
	}
}
