package selection

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
)

// OwnerOf returns the Owner of a pod with this record, which may be nil. An attached pod
// stays with its exporter as long as that selects it, even if the Owner would be one in
// mode Preflight.
func OwnerOf(exporters []v1alpha1.PrometheusJmxExporter, pod *corev1.Pod, record *v1alpha1.JmxAttachment) *v1alpha1.PrometheusJmxExporter {
	owner := Owner(exporters, pod)
	if owner == nil || record == nil || Inherits(owner, record) {
		return owner
	}
	i := slices.IndexFunc(exporters, func(e v1alpha1.PrometheusJmxExporter) bool {
		return e.UID == record.Spec.Exporter.UID && e.DeletionTimestamp.IsZero() && Matched(&e, pod)
	})
	if i < 0 {
		return owner
	}
	return &exporters[i]
}

// Inherits reports whether the owner of a pod takes over its record as it is. An
// exporter in mode Preflight takes over nothing that is attached: that is detached
// first.
func Inherits(owner *v1alpha1.PrometheusJmxExporter, record *v1alpha1.JmxAttachment) bool {
	return owner.Spec.Mode != v1alpha1.ModePreflight || owner.UID == record.Spec.Exporter.UID || !attached(&record.Status)
}

// attached reports whether the pod has something of the operator, or is being detached.
func attached(status *v1alpha1.JmxAttachmentStatus) bool {
	return status.DetachStartTime != nil || slices.ContainsFunc(status.Processes, func(p v1alpha1.JavaProcess) bool {
		return record.MayHaveAgent(&p) || p.Staged != nil || p.Endpoint != nil
	})
}
