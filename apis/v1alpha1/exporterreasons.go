package v1alpha1

// Reasons of ConfigValid. Those that do not hold are also the reasons of Staged of
// every pod of the exporter, and end with the next change of the ConfigMap or of the
// exporter.
const (
	// ReasonValid surfaces on ConfigValid when the configuration was read and accepted.
	ReasonValid = "Valid"
	// ReasonUnknownKeysIgnored surfaces on ConfigValid when the configuration was
	// accepted, and has keys that the exporter does not know and ignores.
	ReasonUnknownKeysIgnored = "UnknownKeysIgnored"
	// ReasonKeysIgnored surfaces on ConfigValid when the configuration was accepted, and
	// has keys of the exporter that have no effect in an agent, or keys that are repeated.
	// If it has unknown keys as well, UnknownKeysIgnored surfaces.
	ReasonKeysIgnored = "KeysIgnored"
	// ReasonConfigNotKept surfaces in an Event of the exporter when the configuration cannot
	// be kept for containers that restart while it is invalid.
	ReasonConfigNotKept = "ConfigNotKept"
	// ReasonRevisionsNotDeleted surfaces in an Event of the exporter when a ControllerRevision
	// that is no longer used cannot be deleted, or its finalizers keep it.
	ReasonRevisionsNotDeleted = "RevisionsNotDeleted"
	// ReasonConfigMapMissing surfaces when the ConfigMap does not exist.
	ReasonConfigMapMissing = "ConfigMapMissing"
	// ReasonConfigMapUnlabeled surfaces when the ConfigMap lacks the label that the
	// operator's flag --require-rules-label asks for.
	ReasonConfigMapUnlabeled = "ConfigMapUnlabeled"
	// ReasonConfigKeyMissing surfaces when the ConfigMap does not have the key.
	ReasonConfigKeyMissing = "ConfigKeyMissing"
	// ReasonConfigMapForbidden surfaces when RBAC does not let the operator read it.
	ReasonConfigMapForbidden = "ConfigMapForbidden"
	// ReasonConfigNotYAML surfaces when the content is not YAML.
	ReasonConfigNotYAML = "ConfigNotYAML"
	// ReasonConfigInvalid surfaces when a key is unknown, or its value has the wrong type
	// or is no object name.
	ReasonConfigInvalid = "ConfigInvalid"
	// ReasonConfigForbidden surfaces when a key makes no sense in an attached exporter.
	ReasonConfigForbidden = "ConfigForbidden"
	// ReasonConfigTooLarge surfaces when the content is larger than 256 KiB, or becomes too
	// large where its aliases are expanded.
	ReasonConfigTooLarge = "ConfigTooLarge"
	// ReasonTooManyExporters surfaces when the namespace has more exporters than the operator's
	// flag --max-exporters-per-namespace allows, and this one is not among the oldest.
	ReasonTooManyExporters = "TooManyExporters"
	// ReasonSecretNotFound surfaces when the Secret of spec.endpointSecurity does not exist.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonSecretForbidden surfaces when RBAC does not let the operator read it.
	ReasonSecretForbidden = "SecretForbidden"
	// ReasonSecretInvalid surfaces when a key of it is missing, or cannot be used.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonProcessRulesInvalid surfaces when a pattern of spec.processes cannot be used. It
	// is also the reason of JavaFound of every pod that would have to be inspected.
	ReasonProcessRulesInvalid = "ProcessRulesInvalid"
)

// Reasons of Ready, Reconciling and Stalled of a PrometheusJmxExporter.
const (
	// ReasonAllAnnotated surfaces on Ready of an exporter when every matched pod is Annotated.
	ReasonAllAnnotated = "AllAnnotated"
	// ReasonProgressing surfaces on Ready and Reconciling of an exporter while pods
	// are pending or updating.
	ReasonProgressing = "Progressing"
	// ReasonReconciled surfaces on Reconciling and Stalled of an exporter when they are False.
	ReasonReconciled = "Reconciled"
	// ReasonNoPodsMatched surfaces on Ready of an exporter, which is True, when no running pod
	// has the labels; in mode Preflight on PreflightComplete, which is False.
	ReasonNoPodsMatched = "NoPodsMatched"
	// ReasonPodClaimed surfaces in the status of an exporter when an older one selects
	// the pod, too.
	ReasonPodClaimed = "PodClaimed"
	// ReasonPodsInspected surfaces on PreflightComplete when every matched pod was inspected.
	ReasonPodsInspected = "PodsInspected"
	// ReasonPodsIncomplete surfaces on ScrapeIncomplete of an exporter when the metrics of
	// some pods lack something; their JmxAttachments say what.
	ReasonPodsIncomplete = "PodsIncomplete"
	// ReasonPodsExpensive surfaces on ScrapeExpensive of an exporter when collections in
	// some pods are expensive; their JmxAttachments say why.
	ReasonPodsExpensive = "PodsExpensive"
	// ReasonCustomResourceDefinitionsOutdated surfaces on Ready, Reconciling and Stalled of an
	// exporter when the installed CustomResourceDefinitions lack fields that the operator needs.
	ReasonCustomResourceDefinitionsOutdated = "CustomResourceDefinitionsOutdated"
	// ReasonSpecUnknown surfaces on Ready, Reconciling and Stalled of the exporters of a
	// namespace when one of them uses fields or values that only a later release knows.
	ReasonSpecUnknown = "SpecUnknown"
	// ReasonPodsRefused surfaces on Stalled and Ready of an exporter when some pods
	// are refused; their JmxAttachments say why.
	ReasonPodsRefused = "PodsRefused"
)
