package records

import "sigs.k8s.io/controller-runtime/pkg/client"

// Field owners: one per concern, so that every field has one writer and no two
// code paths of the operator take each other's fields away. A name here is
// recorded in managedFields of live objects; changing it orphans those fields.
const (
	// OwnerPodAnnotations owns prometheus.io/* and our flag on pods.
	OwnerPodAnnotations client.FieldOwner = "jmx-exporter-operator/pod-annotations"
	// OwnerAttachment owns the JmxAttachments but for their status.
	OwnerAttachment client.FieldOwner = "jmx-exporter-operator/attachment"
	// OwnerAttachmentStatus owns the status of JmxAttachments.
	OwnerAttachmentStatus client.FieldOwner = "jmx-exporter-operator/attachment-status"
	// OwnerExporterStatus owns the status of PrometheusJmxExporters.
	OwnerExporterStatus client.FieldOwner = "jmx-exporter-operator/exporter-status"
	// OwnerEndpoints owns the Services and EndpointSlices.
	OwnerEndpoints client.FieldOwner = "jmx-exporter-operator/endpoints"
	// ownerOfDoors, and its name, owns an ephemeral container.
	ownerOfDoors = "jmx-exporter-operator/"
)
