package v1alpha1

// The annotations that the operator owns on a pod. Prometheus' usual scrape
// configurations read prometheus.io/*; the flag names the JmxAttachment for people.
const (
	AnnotationScrape = "prometheus.io/scrape"
	AnnotationPort   = "prometheus.io/port"
	AnnotationPath   = "prometheus.io/path"
	AnnotationScheme = "prometheus.io/scheme"
	AnnotationFlag   = "banzaicloud.com/jmx-attachment"
)

// Annotations that people set: the only ones that the operator reads.
const (
	// AnnotationOptOut on a pod, "true", keeps every exporter away from it.
	AnnotationOptOut = "banzaicloud.com/jmx-exporter-opt-out"
	// AnnotationResume on an exporter resumes a rollout that was halted, each time
	// it gets another value.
	AnnotationResume = "banzaicloud.com/resume-rollout"
)

// Annotations that an admission policy (config/stamp) writes on an exporter, whatever the
// request says: who wrote its spec last.
const (
	// AnnotationRequester is the user name.
	AnnotationRequester = "banzaicloud.com/requester"
	// AnnotationRequesterGroups are the user's groups: a JSON array of strings, as text.
	AnnotationRequesterGroups = "banzaicloud.com/requester-groups"
)

// LabelRules is the label of a ConfigMap with an exporter's rules, whatever its value,
// where the operator asks for it: in a cluster of tenants (config/tenants).
const LabelRules = "banzaicloud.com/jmx-exporter-rules"
