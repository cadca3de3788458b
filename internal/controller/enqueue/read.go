package enqueue

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// List lists from the cache as it is, for a Map. Unlike a reconcile, an event handler
// has no deadline: if it waited for the cache to catch up with the operator's own
// writes, one hanging write would delay every later event of the kind. Nothing is
// missed, since such a write raises its own event.
func List(ctx context.Context, from client.Reader, list client.ObjectList, options ...client.ListOption) error {
	return from.List(ctx, list, append(options, client.DisableReadYourWritesConsistency)...)
}

// Get reads from the cache as it is, for a Map, like List.
func Get(ctx context.Context, from client.Reader, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return from.Get(ctx, key, object, append(options, client.DisableReadYourWritesConsistency)...)
}
