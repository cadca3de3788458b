package pod

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
)

// scrapeAnnotations are interpreted together by scrapers: the operator's next to
// somebody else's would mislead them.
var scrapeAnnotations = []string{v1alpha1.AnnotationScrape, v1alpha1.AnnotationPort, v1alpha1.AnnotationPath, v1alpha1.AnnotationScheme}

// Annotations returns the annotations that the operator may own on a pod.
func Annotations() []string { return append([]string{v1alpha1.AnnotationFlag}, scrapeAnnotations...) }

// unknownManager represents the owner of a field that no entry of managedFields lists.
const unknownManager = "an unknown field manager"

// ForeignAnnotation is a prometheus.io annotation that the operator does not own
// exclusively.
type ForeignAnnotation struct {
	Name     string
	Managers []string
}

// ForeignScrape returns the scrape annotations of the pod that others own, exclusively
// or together with the operator. A non-forced apply only reports those whose
// values differ, so this reads managedFields.
func ForeignScrape(pod *corev1.Pod) []ForeignAnnotation {
	return Foreign(pod, scrapeAnnotations)
}

// Foreign is like ForeignScrape, for the given annotations.
func Foreign(pod *corev1.Pod, names []string) []ForeignAnnotation {
	var foreign []ForeignAnnotation
	for _, name := range names {
		if _, ok := pod.Annotations[name]; !ok {
			continue
		}
		managers := AnnotationManagers(pod, name)
		others := slices.DeleteFunc(slices.Clone(managers), func(m string) bool { return m == string(records.OwnerPodAnnotations) })
		if len(managers) == 0 {
			others = []string{unknownManager}
		}
		if len(others) > 0 {
			foreign = append(foreign, ForeignAnnotation{Name: name, Managers: others})
		}
	}
	return foreign
}

// OwnsAnnotations reports whether the operator's field manager owns any annotation of
// the pod. Anybody may use the name of a field manager, so this proves nothing about the
// operator.
func OwnsAnnotations(pod *corev1.Pod) bool { return len(OwnAnnotations(pod)) > 0 }

// OwnAnnotations returns the annotations of the pod that the operator's field manager owns.
func OwnAnnotations(pod *corev1.Pod) []string {
	return slices.DeleteFunc(Annotations(), func(name string) bool {
		return !slices.Contains(AnnotationManagers(pod, name), string(records.OwnerPodAnnotations))
	})
}

// AnnotationManagers returns the field managers that own an annotation of the pod.
func AnnotationManagers(pod *corev1.Pod, annotation string) []string {
	return apply.Managers(pod, "metadata", "annotations", annotation)
}

// SetOwn brings a pod that was read earlier up to date with an apply of the operator's
// annotations: those of its own that are not among them are gone.
func SetOwn(pod *corev1.Pod, own map[string]string) {
	for _, name := range Annotations() {
		if slices.Equal(AnnotationManagers(pod, name), []string{string(records.OwnerPodAnnotations)}) {
			delete(pod.Annotations, name)
		}
	}
	pod.ManagedFields = slices.DeleteFunc(pod.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == string(records.OwnerPodAnnotations)
	})
	if len(own) == 0 {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	maps.Copy(pod.Annotations, own)
	pod.ManagedFields = append(pod.ManagedFields, metav1.ManagedFieldsEntry{
		Manager: string(records.OwnerPodAnnotations), Operation: metav1.ManagedFieldsOperationApply,
		FieldsV1: fieldsOf(annotationFields(slices.Collect(maps.Keys(own)))),
	})
}

func annotationFields(names []string) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range names {
		set.Insert(fieldpath.MakePathOrDie("metadata", "annotations", name))
	}
	return set
}

func fieldsOf(set *fieldpath.Set) *metav1.FieldsV1 {
	raw, err := set.ToJSON()
	if err != nil { // paths of strings always serialize
		panic(err)
	}
	return metav1.NewFieldsV1(string(raw))
}

// TrimManagedFields reduces a pod's managedFields, for the cache, to the owners of the
// relevant annotations and the last change by another manager.
func TrimManagedFields(pod *corev1.Pod) {
	annotations := annotationFields(Annotations())
	last := LastChange(pod)
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range pod.ManagedFields {
		set := apply.Owned(entry).Intersection(annotations)
		isLast := last != nil && entry.Manager == last.Manager && entry.Operation == last.Operation && entry.Subresource == ""
		if set.Empty() && !isLast {
			continue
		}
		trimmed := metav1.ManagedFieldsEntry{Manager: entry.Manager, Operation: entry.Operation, FieldsV1: fieldsOf(set)}
		if isLast {
			trimmed.Time = entry.Time
		}
		kept = append(kept, trimmed)
	}
	pod.ManagedFields = kept
}

// LastChange returns the entry of the other manager that changed the pod last, status
// aside; nil if none did since the pod was created.
func LastChange(pod *corev1.Pod) *metav1.ManagedFieldsEntry {
	var last *metav1.ManagedFieldsEntry
	for i := range pod.ManagedFields {
		entry := &pod.ManagedFields[i]
		if entry.Manager == string(records.OwnerPodAnnotations) || entry.Subresource != "" || entry.Time == nil || !entry.Time.After(pod.CreationTimestamp.Time) {
			continue
		}
		if last == nil || entry.Time.After(last.Time.Time) {
			last = entry
		}
	}
	return last
}

// OwnerName returns the field manager, or the workload whose pod template has the
// annotation if the controller manager set it when creating the pod.
func OwnerName(pod *corev1.Pod, manager string) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || manager != "kube-controller-manager" {
		return fmt.Sprintf("field manager %q", manager)
	}
	kind, name := owner.Kind, owner.Name
	if deployment, ok := strings.CutSuffix(name, "-"+pod.Labels["pod-template-hash"]); ok && kind == "ReplicaSet" {
		kind, name = "Deployment", deployment
	}
	return fmt.Sprintf("the pod template of %s %s", kind, name)
}
