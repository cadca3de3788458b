package enqueue

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Gate decides which requests are reconciled. It is safe for concurrent use.
type Gate interface {
	// Owns reports whether the namespace is one of this operator. It never changes.
	Owns(namespace string) bool
	// Hold returns why the requests of the namespace have to wait; nil if they do not.
	Hold(ctx context.Context, namespace string) (*Hold, error)
	// OnChange has notify called when all requests have to wait, and when they no longer do.
	OnChange(notify func())
}

// Hold is why requests have to wait.
type Hold struct {
	// Reason and Message are those of a condition; empty if there is nothing to report.
	Reason, Message string
	// Drops are the fields of exporters that the API server drops whenever it stores one.
	Drops []string
	// RetryAfter is the time after which to ask the Gate again.
	RetryAfter time.Duration
}

// Owned returns the requests of m for the namespaces that the Gate owns.
func Owned[T client.Object](gate Gate, m Map[T]) Map[T] {
	return func(ctx context.Context, before, after *T) []reconcile.Request {
		if gate.Owns(Present(before, after)[0].GetNamespace()) {
			return m(ctx, before, after)
		}
		return nil
	}
}
