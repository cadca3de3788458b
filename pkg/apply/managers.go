package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Managers returns the field managers that own a field of an object, according to its
// managedFields, sorted and without duplicates. The path of an annotation is, for
// example, "metadata", "annotations", name.
func Managers(obj client.Object, path ...any) []string {
	field := fieldpath.MakePathOrDie(path...)
	var managers []string
	for _, entry := range obj.GetManagedFields() {
		if Owned(entry).Has(field) {
			managers = append(managers, entry.Manager)
		}
	}
	slices.Sort(managers)
	return slices.Compact(managers)
}

// Owned returns the fields that an entry of managedFields owns; none if it cannot be
// parsed.
func Owned(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil || set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
		return &fieldpath.Set{}
	}
	return set
}
