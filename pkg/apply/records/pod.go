package records

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// PodAnnotations applies the operator's annotations to this pod, but not to a later one
// of the same name; nil removes them. The apply is never forced: it fails if another
// manager owns one of them with a different value (ConflictingManagers). It does not
// fail if the values are equal, so callers should check managedFields as well.
func (w *Writer) PodAnnotations(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error {
	stated := corev1ac.Pod(pod.Name, pod.Namespace).WithUID(pod.UID).WithAnnotations(annotations)
	return w.client.Shared(ctx, OwnerPodAnnotations, apply.Name(pod), stated)
}
