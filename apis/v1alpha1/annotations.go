package v1alpha1

// Annotations that the operator owns on a pod. Common Prometheus configurations read
// prometheus.io/*; the flag names the JmxAttachment for people.
const (
	AnnotationScrape = "prometheus.io/scrape"
	AnnotationPort   = "prometheus.io/port"
	AnnotationPath   = "prometheus.io/path"
	AnnotationScheme = "prometheus.io/scheme"
	AnnotationFlag   = "banzaicloud.com/jmx-attachment"
)

// Annotations that users set: the only ones that the operator reads.
const (
	// AnnotationOptOut with the value "true" excludes a pod from all exporters.
	AnnotationOptOut = "banzaicloud.com/jmx-exporter-opt-out"
	// AnnotationResume on an exporter resumes a halted rollout whenever its value
	// changes.
	AnnotationResume = "banzaicloud.com/resume-rollout"
)

// Annotations that an admission policy (config/stamp) sets on an exporter, overriding
// the request: the user who wrote its spec last.
const (
	// AnnotationRequester is the user name.
	AnnotationRequester = "banzaicloud.com/requester"
	// AnnotationRequesterGroups has the user's groups, as a JSON array of strings.
	AnnotationRequesterGroups = "banzaicloud.com/requester-groups"
)

// LabelRules is the label, with any value, that a ConfigMap with an exporter's rules
// needs if the operator requires it, as in a multi-tenant cluster (config/tenants).
const LabelRules = "banzaicloud.com/jmx-exporter-rules"
