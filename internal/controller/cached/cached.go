// Package cached reads from the manager's cache.
package cached

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader reads from the cache of a client with read-your-writes consistency. Get waits until
// the cache has what this process wrote to that object. List does not wait: it would wait
// for each write of the kind that is under way, also for one that hangs in a webhook for
// another namespace. Who lists what it wrote calls Settle first.
type Reader struct{ client.Reader }

// Settle returns when the cache has what this process wrote to the objects, of which only
// kind, namespace and name count.
func (r Reader) Settle(ctx context.Context, objects []client.Object) error {
	for _, o := range objects {
		if err := r.Get(ctx, client.ObjectKeyFromObject(o), o, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// List implements client.Reader.
func (r Reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.Reader.List(ctx, list, append(options, client.DisableReadYourWritesConsistency)...)
}
