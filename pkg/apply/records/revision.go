package records

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Revision applies the ControllerRevision that keeps a configuration of an exporter. The
// API server does not let anybody change its data.
func (w *Writer) Revision(ctx context.Context, revision *appsv1ac.ControllerRevisionApplyConfiguration) error {
	return w.client.Object(ctx, OwnerRevisions, *revision.GetNamespace()+"/"+*revision.GetName(), revision, client.DisableReadYourWritesConsistency)
}

// DeleteRevision deletes this ControllerRevision, of which only the metadata was read. Neither
// write may wait for a cache: there is none, and the client would start one.
func (w *Writer) DeleteRevision(ctx context.Context, revision *metav1.PartialObjectMetadata) error {
	return w.client.Delete(ctx, revision, client.DisableReadYourWritesConsistency)
}
