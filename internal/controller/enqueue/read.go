package enqueue

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Get reads from the cache as it is, for a Map. Unlike a reconcile, an event handler has no
// deadline: if it waited for the cache to catch up with the operator's own writes, one
// hanging write would delay every later event of the kind. Nothing is missed, since such a
// write raises its own event.
func Get(ctx context.Context, from client.Reader, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return from.Get(ctx, key, object, append(options, client.DisableReadYourWritesConsistency)...)
}
