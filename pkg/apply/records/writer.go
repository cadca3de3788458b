// Package records is the only door for writes of this operator to the API: what each
// of its field owners states of pods, records, exporters and endpoints.
package records

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// Writer writes to the API. It is safe for concurrent use.
type Writer struct{ client *apply.Client }

// New returns a Writer that writes with the Client.
func New(c *apply.Client) *Writer { return &Writer{client: c} }

// Delete deletes this object and no later one of its name. That it is gone
// already is no error.
func (w *Writer) Delete(ctx context.Context, obj client.Object) error {
	return w.client.Delete(ctx, obj)
}
