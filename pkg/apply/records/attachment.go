package records

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
)

// Attachment applies the JmxAttachment of a pod for an exporter, with the granted
// revision, if any. The pod owns the record, so both are deleted together. The UID is
// that of an existing record, which is then never recreated; empty to create one. The
// exporter is nil for a pod that is to be detached and whose exporter no longer exists. It
// returns the resource version of the record.
func (w *Writer) Attachment(ctx context.Context, uid types.UID, name string, pod *corev1.Pod, exporter *v1alpha1.PrometheusJmxExporter, revision string) (resourceVersion *string, err error) {
	spec := ac.JmxAttachmentSpec().WithPod(ac.ObjectIdentity().WithName(pod.Name).WithUID(pod.UID))
	if revision != "" {
		spec.WithRevision(revision)
	}
	stated := ac.JmxAttachment(name, pod.Namespace).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion("v1").WithKind("Pod").WithName(pod.Name).WithUID(pod.UID).
			WithController(true)).
		WithSpec(spec)
	if exporter != nil {
		spec.WithExporter(ac.ObjectIdentity().WithName(exporter.Name).WithUID(exporter.UID))
		stated.WithLabels(map[string]string{v1alpha1.LabelExporterUID: string(exporter.UID)})
	}
	if uid != "" {
		stated.WithUID(uid)
	}
	err = w.client.Object(ctx, OwnerAttachment, pod.Namespace+"/"+name, stated)
	return stated.ResourceVersion, err
}

// AttachmentStatus applies the complete status of a JmxAttachment and updates its
// resourceVersion, so that it can be applied again. It returns a conflict if the object
// has changed since it was read.
func (w *Writer) AttachmentStatus(ctx context.Context, attachment *v1alpha1.JmxAttachment, status *v1alpha1.JmxAttachmentStatus) error {
	return w.client.WholeStatus(ctx, OwnerAttachmentStatus, attachment, status)
}
