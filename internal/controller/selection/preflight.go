package selection

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// OwnerOf is the Owner of a pod with this record, which may be nil. What is attached
// stays with its exporter, as long as that selects the pod, rather than with another
// one in mode Preflight.
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

// Inherits reports whether the owner of a pod takes its record over as it is. One in
// mode Preflight takes over nothing that is attached: that is detached first.
func Inherits(owner *v1alpha1.PrometheusJmxExporter, record *v1alpha1.JmxAttachment) bool {
	return owner.Spec.Mode != v1alpha1.ModePreflight || owner.UID == record.Spec.Exporter.UID || !attached(&record.Status)
}

// attached reports whether something of the operator's is in the pod, or a detach of
// it is under way.
func attached(status *v1alpha1.JmxAttachmentStatus) bool {
	return status.DetachStartTime != nil || slices.ContainsFunc(status.Processes, func(p v1alpha1.JavaProcess) bool {
		return steps.MayHaveAgent(&p) || p.Staged != nil || p.Endpoint != nil
	})
}
