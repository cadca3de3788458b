package selection

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// fieldExporter is the index of JmxAttachments by exporter. They need no index by pod,
// since AttachmentName is their name.
const fieldExporter = "spec.exporter.uid"

// RecordsOf selects the JmxAttachments of an exporter, in a cache with the index of
// IndexRecords.
func RecordsOf(exporter types.UID) client.MatchingFields {
	return client.MatchingFields{fieldExporter: string(exporter)}
}

// IndexRecords returns the name and function of the index that RecordsOf needs.
func IndexRecords() (field string, index client.IndexerFunc) {
	return fieldExporter, func(o client.Object) []string {
		return []string{string(o.(*v1alpha1.JmxAttachment).Spec.Exporter.UID)}
	}
}
