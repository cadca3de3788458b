package records

import (
	"context"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"
)

// Service applies the headless Service of an exporter.
func (w *Writer) Service(ctx context.Context, service *corev1ac.ServiceApplyConfiguration) error {
	return w.client.Object(ctx, OwnerEndpoints, *service.GetNamespace()+"/"+*service.GetName(), service)
}

// EndpointSlice applies an EndpointSlice of an exporter. Its endpoints are an atomic
// list, so they are applied as a whole.
func (w *Writer) EndpointSlice(ctx context.Context, slice *discoveryv1ac.EndpointSliceApplyConfiguration) error {
	return w.client.Object(ctx, OwnerEndpoints, *slice.GetNamespace()+"/"+*slice.GetName(), slice)
}
