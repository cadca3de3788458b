package enqueue

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// List lists for a Map what the cache has now. Unlike a reconcile, an event handler
// has no deadline: if it waited for the cache to catch up with the operator's own
// writes, one write that hangs would hold up every later event of the kind. Nothing
// is missed, since what such a write changes comes as an event of its own.
func List(ctx context.Context, from client.Reader, list client.ObjectList, options ...client.ListOption) error {
	return from.List(ctx, list, append(options, client.DisableReadYourWritesConsistency)...)
}

// Get reads for a Map what the cache has now, as List does.
func Get(ctx context.Context, from client.Reader, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return from.Get(ctx, key, object, append(options, client.DisableReadYourWritesConsistency)...)
}
