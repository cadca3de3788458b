package v1alpha1

// Conditions of both kinds. The phases are further conditions of a JmxAttachment.
const (
	// ConditionReady of a JmxAttachment is True when all phases hold; of a
	// PrometheusJmxExporter, when every matched pod is Annotated, also if there is none yet.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator is making progress (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when a person is needed (kstatus).
	ConditionStalled = "Stalled"
	// ConditionPreflightComplete of a PrometheusJmxExporter in mode Preflight is True
	// when all matched pods were inspected.
	ConditionPreflightComplete = "PreflightComplete"
	// ConditionConfigValid of a PrometheusJmxExporter is True when its ConfigMap can be
	// read and its content is accepted.
	ConditionConfigValid = "ConfigValid"
	// ConditionScrapeIncomplete is True when the metrics of a JVM lack MBeans, attributes
	// or samples. It changes nothing, and is absent otherwise.
	ConditionScrapeIncomplete = "ScrapeIncomplete"
	// ConditionScrapeExpensive is True when a collection in a JVM is expensive. It changes
	// nothing, and is absent otherwise.
	ConditionScrapeExpensive = "ScrapeExpensive"
)
