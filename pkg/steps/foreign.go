package steps

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"banzaicloud.com/jmx-exporter-operator/pkg/apply"
	"banzaicloud.com/jmx-exporter-operator/pkg/apply/records"
)

// unknownManager represents the owner of a field that no entry of managedFields lists.
const unknownManager = "an unknown field manager"

// foreignAnnotation is a prometheus.io annotation that the operator does not own
// exclusively.
type foreignAnnotation struct {
	Name     string
	Managers []string
}

// foreignAnnotations returns the scrape annotations of the pod that others own,
// exclusively or together with the operator. A non-forced apply only reports those whose
// values differ, so this reads managedFields.
func foreignAnnotations(pod *corev1.Pod) []foreignAnnotation {
	return othersAnnotations(pod, scrapeAnnotations)
}

func othersAnnotations(pod *corev1.Pod, names []string) []foreignAnnotation {
	var foreign []foreignAnnotation
	for _, name := range names {
		if _, ok := pod.Annotations[name]; !ok {
			continue
		}
		managers := managersOf(pod, name)
		others := slices.DeleteFunc(slices.Clone(managers), func(m string) bool { return m == string(records.OwnerPodAnnotations) })
		if len(managers) == 0 {
			others = []string{unknownManager}
		}
		if len(others) > 0 {
			foreign = append(foreign, foreignAnnotation{Name: name, Managers: others})
		}
	}
	return foreign
}

// OwnsAnnotations reports whether the operator's field manager owns any annotation of
// the pod.
func OwnsAnnotations(pod *corev1.Pod) bool {
	return slices.ContainsFunc(Annotations(), func(name string) bool {
		return slices.Contains(managersOf(pod, name), string(records.OwnerPodAnnotations))
	})
}

func managersOf(pod *corev1.Pod, annotation string) []string {
	return apply.Managers(pod, "metadata", "annotations", annotation)
}

// removeOwn removes from the pod read earlier what Withdraw removed from the pod in the
// API.
func removeOwn(pod *corev1.Pod) {
	for _, name := range Annotations() {
		if slices.Equal(managersOf(pod, name), []string{string(records.OwnerPodAnnotations)}) {
			delete(pod.Annotations, name)
		}
	}
	pod.ManagedFields = slices.DeleteFunc(pod.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == string(records.OwnerPodAnnotations)
	})
}

// TrimManagedFields reduces a pod's managedFields, for the cache, to the owners of the
// relevant annotations and the last change by another manager.
func TrimManagedFields(pod *corev1.Pod) {
	annotations := fieldpath.NewSet()
	for _, name := range Annotations() {
		annotations.Insert(fieldpath.MakePathOrDie("metadata", "annotations", name))
	}
	last := lastChange(pod)
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range pod.ManagedFields {
		set := apply.Owned(entry).Intersection(annotations)
		isLast := last != nil && entry.Manager == last.Manager && entry.Operation == last.Operation && entry.Subresource == ""
		if set.Empty() && !isLast {
			continue
		}
		raw, err := set.ToJSON()
		if err != nil { // paths of strings always serialize
			panic(err)
		}
		trimmed := metav1.ManagedFieldsEntry{Manager: entry.Manager, Operation: entry.Operation, FieldsV1: metav1.NewFieldsV1(string(raw))}
		if isLast {
			trimmed.Time = entry.Time
		}
		kept = append(kept, trimmed)
	}
	pod.ManagedFields = kept
}

// lastChange returns the entry of the other manager that changed the pod last, status
// aside; nil if none did since the pod was created.
func lastChange(pod *corev1.Pod) *metav1.ManagedFieldsEntry {
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

// contestedMessage names the other manager if the pod shows it: a manager that only
// removes annotations owns no field of the pod.
func contestedMessage(pod *corev1.Pod, missing []string) string {
	other := "The remover owns no field of the pod and cannot be identified; see the API server's audit log."
	if last := lastChange(pod); last != nil {
		other = fmt.Sprintf("Besides the operator, %s changed the pod last.", ownerName(pod, last.Manager))
	}
	return fmt.Sprintf("Annotations %s were removed %d times within %s; the operator stopped restoring them. %s The exporter's EndpointSlices still list the endpoint.",
		strings.Join(missing, ", "), maxRestores+1, restoreWindow, other)
}

func conflictMessage(pod *corev1.Pod, foreign []foreignAnnotation) string {
	var names, owners []string
	for _, f := range foreign {
		names = append(names, f.Name)
		for _, m := range f.Managers {
			owners = append(owners, ownerName(pod, m))
		}
	}
	slices.Sort(owners)
	return fmt.Sprintf("%s of the pod is set by %s. The operator does not add its own, so that no scrape is redirected; the exporter's EndpointSlices list the endpoint.",
		strings.Join(names, ", "), strings.Join(slices.Compact(owners), ", "))
}

// ownerName returns the field manager, or the workload whose pod template has the
// annotation if the controller manager set it when creating the pod.
func ownerName(pod *corev1.Pod, manager string) string {
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
