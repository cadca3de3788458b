package records

import "sigs.k8s.io/controller-runtime/pkg/client"

// Field owners, one per concern: every field has one writer, and no two code paths of
// the operator take fields from each other. The names are recorded in managedFields of
// live objects; changing a name orphans its fields.
const (
	// OwnerPodAnnotations owns prometheus.io/* and the operator's flag annotation on
	// pods.
	OwnerPodAnnotations client.FieldOwner = "jmx-exporter-operator/pod-annotations"
	// OwnerAttachment owns JmxAttachments, except for their status.
	OwnerAttachment client.FieldOwner = "jmx-exporter-operator/attachment"
	// OwnerAttachmentStatus owns the status of JmxAttachments.
	OwnerAttachmentStatus client.FieldOwner = "jmx-exporter-operator/attachment-status"
	// OwnerExporterStatus owns the status of PrometheusJmxExporters.
	OwnerExporterStatus client.FieldOwner = "jmx-exporter-operator/exporter-status"
	// OwnerEndpoints owns the Services and EndpointSlices.
	OwnerEndpoints client.FieldOwner = "jmx-exporter-operator/endpoints"
	// OwnerRevisions owns the ControllerRevisions.
	OwnerRevisions client.FieldOwner = "jmx-exporter-operator/revisions"
	// ownerOfDoors plus the name of an ephemeral container owns that container.
	ownerOfDoors = "jmx-exporter-operator/"
)
