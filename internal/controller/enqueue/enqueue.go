// Package enqueue turns events of one kind of object into reconciles of another.
package enqueue

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Map returns the reconcile requests for an event. before is nil if an object was
// created, after is nil if it was deleted.
type Map[T client.Object] func(ctx context.Context, before, after *T) []reconcile.Request

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// After handles events by enqueuing the requests of m after a delay. Events for the same
// request during the delay result in one reconcile.
func After[T client.Object](delay time.Duration, m Map[T]) handler.TypedEventHandler[T, reconcile.Request] {
	return handle(func(reconcile.Request) time.Duration { return delay }, m)
}

func handle[T client.Object](delay func(reconcile.Request) time.Duration, m Map[T]) handler.TypedEventHandler[T, reconcile.Request] {
	add := func(ctx context.Context, q queue, before, after *T) {
		for _, request := range m(ctx, before, after) {
			q.AddAfter(request, delay(request)) // at once where there is none
		}
	}
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q queue) { add(ctx, q, nil, &e.Object) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q queue) {
			add(ctx, q, &e.ObjectOld, &e.ObjectNew)
		},
		DeleteFunc:  func(ctx context.Context, e event.TypedDeleteEvent[T], q queue) { add(ctx, q, &e.Object, nil) },
		GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[T], q queue) { add(ctx, q, nil, &e.Object) },
	}
}

// Present returns the existing objects of an event: before, after, or both.
func Present[T client.Object](before, after *T) []T {
	var present []T
	for _, o := range []*T{before, after} {
		if o != nil {
			present = append(present, *o)
		}
	}
	return present
}

// Matching returns a request for each object that matches.
func Matching[T any, O interface {
	*T
	client.Object
}](objects []T, match func(O) bool) []reconcile.Request {
	var requests []reconcile.Request
	for i := range objects {
		if o := O(&objects[i]); match(o) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
	}
	return requests
}

// SpecChanged reports whether an event changed more than an object's status.
func SpecChanged[T client.Object](before, after *T) bool {
	return before == nil || after == nil || (*before).GetGeneration() != (*after).GetGeneration() ||
		!(*before).GetDeletionTimestamp().Equal((*after).GetDeletionTimestamp())
}

// ConflictRetry is the time after which a stale object is read again.
const ConflictRetry = 200 * time.Millisecond

// Earliest returns the shorter of two requeue times; 0 means never.
func Earliest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// RateLimiter returns a rate limiter for requests that failed with an error.
func RateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](200*time.Millisecond, statemachine.MaxBackoff)
}
