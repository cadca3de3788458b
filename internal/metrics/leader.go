package metrics

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leader is the cache of the elected replica, and empty until it is elected: a replica that
// waits has no cache of pods, the largest of all, and a read would start it.
type leader struct {
	client.Reader
	elected <-chan struct{}
}

// List implements client.Reader.
func (l leader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	select {
	case <-l.elected:
		return l.Reader.List(ctx, list, options...)
	default:
		return nil
	}
}
