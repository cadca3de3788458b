// Package cached reads from the manager's cache, whose client has read-your-writes
// consistency.
package cached

import (
	"context"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Snapshot reads the cache as it is, for example in an event handler: unlike a reconcile, it
// has no deadline, and if it waited for the operator's own writes, one that hangs would delay
// every later event of the kind. Nothing is missed, since such a write raises its own event.
type Snapshot struct{ client.Reader }

// Get implements client.Reader.
func (s Snapshot) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return s.Reader.Get(ctx, key, object, append(options, client.DisableReadYourWritesConsistency)...)
}

// List implements client.Reader.
func (s Snapshot) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return s.Reader.List(ctx, list, append(options, client.DisableReadYourWritesConsistency)...)
}

// Reader reads what a reconcile decides by. Get waits until the cache has what this process
// wrote to that object. List does not wait: it would wait for each write of the kind that is
// under way, also for one that hangs in a webhook for another namespace.
type Reader struct{ client.Reader }

// List implements client.Reader.
func (r Reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return Snapshot(r).List(ctx, list, options...)
}

// Older reports whether one resource version of an object is older than another. They can be
// compared (KEP-5504).
func Older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil && a != b || err == nil && order < 0
}
