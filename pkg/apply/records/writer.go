// Package records contains all API writes of this operator: what each field owner
// applies to pods, records, exporters and endpoints.
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

// Delete deletes this object, but not a later one of the same name. It returns nil if
// the object is already gone.
func (w *Writer) Delete(ctx context.Context, obj client.Object) error {
	return w.client.Delete(ctx, obj)
}
