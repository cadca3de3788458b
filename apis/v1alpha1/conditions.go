package v1alpha1

// Conditions of both kinds, beside the phases, which are conditions of a JmxAttachment.
const (
	// ConditionReady of a JmxAttachment holds when all phases do; of a
	// PrometheusJmxExporter, when every matched pod is Annotated.
	ConditionReady = "Ready"
	// ConditionReconciling holds while the operator still has something to do
	// that it can do itself (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled holds when something needs a person (kstatus).
	ConditionStalled = "Stalled"
	// ConditionPreflightComplete of a PrometheusJmxExporter in mode Preflight holds when
	// all matched pods were inspected.
	ConditionPreflightComplete = "PreflightComplete"
	// ConditionConfigValid of a PrometheusJmxExporter holds when its ConfigMap
	// can be read and the exporter accepts its content.
	ConditionConfigValid = "ConfigValid"
)
