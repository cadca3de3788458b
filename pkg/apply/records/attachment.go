package records

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	ac "banzaicloud.com/jmx-exporter-operator/apis/v1alpha1/applyconfiguration/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
)

// Attachment states the JmxAttachment of a pod for an exporter, owned by the pod,
// so that it goes when the pod goes, and the revision that it is granted; none if
// that is empty. The UID is that of the record if there is one, which is then
// never made anew. The exporter is nil in the record of a pod that is to be
// detached, of whose exporter nothing is left.
func (w *Writer) Attachment(ctx context.Context, uid types.UID, name string, pod *corev1.Pod, exporter *v1alpha1.PrometheusJmxExporter, revision string) error {
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
	return w.client.Object(ctx, OwnerAttachment, pod.Namespace+"/"+name, stated)
}

// AttachmentStatus states the whole status of a JmxAttachment as it was read,
// and takes its new resourceVersion over, so that it can be stated again. One
// that has changed since is a conflict.
func (w *Writer) AttachmentStatus(ctx context.Context, attachment *v1alpha1.JmxAttachment, status *v1alpha1.JmxAttachmentStatus) error {
	stated, err := configuration[ac.JmxAttachmentStatusApplyConfiguration](status)
	if err != nil {
		return err
	}
	object := ac.JmxAttachment(attachment.Name, attachment.Namespace).
		WithUID(attachment.UID).WithResourceVersion(attachment.ResourceVersion).WithStatus(stated)
	if err := w.client.Status(ctx, OwnerAttachmentStatus, apply.Name(attachment), object); err != nil {
		return err
	}
	attachment.ResourceVersion = *object.ResourceVersion
	return nil
}
