package records

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// AddEphemeralContainer adds an ephemeral container to this pod, but not to a later one
// of the same name. Each container has its own field owner, derived from its name: an
// owner that later applied a different container would remove this one, which the API
// refuses.
func (w *Writer) AddEphemeralContainer(ctx context.Context, pod *corev1.Pod, c *corev1ac.EphemeralContainerApplyConfiguration) error {
	stated := corev1ac.Pod(pod.Name, pod.Namespace).WithUID(pod.UID).WithSpec(corev1ac.PodSpec().WithEphemeralContainers(c))
	return w.client.Subresource(ctx, client.FieldOwner(ownerOfDoors+*c.Name), "ephemeralcontainers", apply.Name(pod), stated)
}
