//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The demo's path, with its manifests.
func TestDemo(t *testing.T) {
	t.Parallel()
	namespace, applications, feature := running("demo", 4, 4, demo+"dummyapp.yaml")
	testenv.Test(t, feature.
		Assess("one manifest, and all pods are Annotated", funcs.All(
			funcs.Apply(namespace, rules, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 4, port))).
		Assess("the applications are as before, but for the warning of Java 25", applications.UntouchedButWarned("dummyapp:25")).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("their metrics are served", funcs.Serves(namespace, "dummyapp_requests_total", "dummyapp_queue_size", "dummyapp_pool_active", "jvm_memory_used_bytes")).
		Assess("Prometheus scrapes each pod once, by the annotations alone", funcs.All(
			funcs.Apply(namespace, demo+"prometheus.yaml"),
			funcs.Scraped(namespace, "dummyapp_requests_total", 4))).
		Assess("the scrapes have changed nothing", applications.UntouchedButWarned("dummyapp:25")).
		Feature())
}
