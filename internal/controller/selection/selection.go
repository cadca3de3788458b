// Package selection assigns pods to exporters. All controllers use it, so that they
// cannot disagree.
package selection

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	podfacts "banzaicloud.com/jmx-exporter-operator/pkg/pod"
)

// SliceManager is the value of endpointslice.kubernetes.io/managed-by of the exporters'
// EndpointSlices, which makes the EndpointSlice controller ignore them.
const SliceManager = "jmx-exporter-operator.banzaicloud.com"

// OwnSlice reports whether an EndpointSlice is the operator's: an exporter controls it, and it
// is marked as only the operator may mark one (the policy jmx-exporter-operator-published).
// Neither suffices alone: anybody may name an exporter as owner, and the EndpointSlice
// controller copies the label of the exporter from any Service.
func OwnSlice(slice *discoveryv1.EndpointSlice) bool {
	controller := metav1.GetControllerOfNoCopy(slice)
	return slice.Labels[discoveryv1.LabelManagedBy] == SliceManager &&
		controller != nil && controller.Kind == "PrometheusJmxExporter" && string(controller.UID) == slice.Labels[v1alpha1.LabelExporterUID]
}

// Flagged reports whether the operator's annotation of its record is on the pod, and still the
// operator's to remove. Nobody else may set it (the policy jmx-exporter-operator-flag) except on a
// new pod, whose UID, and so the name of its record, is not known yet.
func Flagged(pod *corev1.Pod) bool {
	return pod.Annotations[v1alpha1.AnnotationFlag] == AttachmentName(pod) &&
		slices.Contains(podfacts.OwnAnnotations(pod), v1alpha1.AnnotationFlag)
}

// Matched reports whether the exporter selects the pod, and it runs, is not
// terminating, and has not opted out.
func Matched(exporter *v1alpha1.PrometheusJmxExporter, pod *corev1.Pod) bool {
	return pod.DeletionTimestamp.IsZero() && runsFor(exporter, pod)
}

// Drains reports whether the pod of a record would be matched by its exporter, but is
// terminating: it may answer for minutes, and is scraped until its containers end. A pod
// that was being detached before is not.
func Drains(exporter *v1alpha1.PrometheusJmxExporter, pod *corev1.Pod, record *v1alpha1.JmxAttachment) bool {
	return !pod.DeletionTimestamp.IsZero() && runsFor(exporter, pod) &&
		exporter.DeletionTimestamp.IsZero() && record.Spec.Exporter.UID == exporter.UID && record.Status.DetachStartTime == nil
}

func runsFor(exporter *v1alpha1.PrometheusJmxExporter, pod *corev1.Pod) bool {
	return Selects(exporter, pod) && pod.Annotations[v1alpha1.AnnotationOptOut] != "true" && pod.Status.Phase == corev1.PodRunning
}

// Selects reports whether the exporter's selector matches the pod's labels.
func Selects(exporter *v1alpha1.PrometheusJmxExporter, pod *corev1.Pod) bool {
	return exporter.Spec.Selects(pod.Labels)
}

// Owner returns the exporter that the pod belongs to: the oldest that matches it or, of
// those created in the same second, the one with the lowest UID; nil if none matches. An
// exporter in mode Preflight only has pods that no other exporter matches.
func Owner(exporters []v1alpha1.PrometheusJmxExporter, pod *corev1.Pod) *v1alpha1.PrometheusJmxExporter {
	var owner *v1alpha1.PrometheusJmxExporter
	for i := range exporters {
		e := &exporters[i]
		if e.DeletionTimestamp.IsZero() && Matched(e, pod) && (owner == nil || precedes(e, owner)) {
			owner = e
		}
	}
	return owner
}

func precedes(a, b *v1alpha1.PrometheusJmxExporter) bool {
	if preflight := a.Spec.Mode == v1alpha1.ModePreflight; preflight != (b.Spec.Mode == v1alpha1.ModePreflight) {
		return !preflight
	}
	return older(a, b)
}

// CountOlder returns how many exporters are older than another one.
func CountOlder(exporters []v1alpha1.PrometheusJmxExporter, than *v1alpha1.PrometheusJmxExporter) (n int) {
	for i := range exporters {
		if older(&exporters[i], than) {
			n++
		}
	}
	return n
}

func older(a, b *v1alpha1.PrometheusJmxExporter) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// AttachmentName returns the name of the pod's JmxAttachment, which is unique to the
// pod, whatever its exporter, and differs from that of a later pod of the same name.
func AttachmentName(pod *corev1.Pod) string { return AttachmentNameOf(pod.Name, pod.UID) }

// AttachmentNameOf returns the same for a pod of which only name and UID are known.
func AttachmentNameOf(name string, uid types.UID) string { return named(name, "-"+hash(uid), 253) }

// ServiceName returns the name of the exporter's headless Service: a DNS label that
// begins with a letter.
func ServiceName(exporter *v1alpha1.PrometheusJmxExporter) string {
	name := strings.ReplaceAll(exporter.Name, ".", "-")
	if name[0] >= '0' && name[0] <= '9' {
		name = "x" + name
	}
	return named(name, "-jmx-"+hash(exporter.UID), 63)
}

// RevisionName returns the name of the ControllerRevision that keeps the configuration of
// a revision of the exporter. The revision differs from those of other exporters.
func RevisionName(exporter *v1alpha1.PrometheusJmxExporter, revision string) string {
	return named(exporter.Name, "-"+revision, 253)
}

// PortName is the name of the port of Services and EndpointSlices.
const PortName = "metrics"

// LabelValue returns the name of an exporter as a label value.
func LabelValue(name string) string { return named(name, "", 63) }

// named returns the name, cut to leave room for the suffix that makes it unique.
func named(name, suffix string, limit int) string {
	if room := limit - len(suffix); len(name) > room {
		name = strings.TrimRight(name[:room], "-.")
	}
	return name + suffix
}

func hash(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:4])
}
