package records

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// PodAnnotations states the annotations that we own on this pod and on no later
// one of its name; nil withdraws those that we own. It is never forced: what
// somebody else owns with another value makes it fail (ConflictingManagers).
// What somebody else owns with the same value does not, hence callers look at
// managedFields as well.
func (w *Writer) PodAnnotations(ctx context.Context, pod *corev1.Pod, annotations map[string]string) error {
	stated := corev1ac.Pod(pod.Name, pod.Namespace).WithUID(pod.UID).WithAnnotations(annotations)
	return w.client.Shared(ctx, OwnerPodAnnotations, apply.Name(pod), stated)
}
