//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// By each component of config/prometheus, a Prometheus of the real prometheus-operator has
// exactly one target for each JVM, and none once the exporters are deleted. Its config
// reloader brings each change of the monitors; Prometheus is never restarted. The monitors
// select the pods of all features, so that no other runs at the same time.
func TestMonitors(t *testing.T) {
	const manifests = "manifests/prometheus-operator/"
	namespace, applications, feature := running(t, "monitors", 2, 3, manifests+"app.yaml")
	monitoring := funcs.MonitoringIn(namespace)
	exporters := manifests + "exporters.yaml"
	feature = feature.
		WithSetup("prometheus-operator", suite.PrometheusOperator(namespace)).
		WithSetup("Prometheus and its right to discover", funcs.Apply(namespace, manifests+"prometheus.yaml")).
		WithSetup("the operator may get the Secret", suite.MayGetSecrets()).
		WithSetup("Secrets and rules", funcs.All(funcs.SecurityIn(namespace).Create(), funcs.Apply(namespace, manifests+"rules.yaml"))).
		WithSetup("a monitor of the endpoint with TLS", funcs.Apply(namespace, manifests+"secured.yaml")).
		WithSetup("Prometheus and its config reloader run", monitoring.Remember())
	for _, way := range []funcs.Way{
		{Name: "ServiceMonitor", Pool: "serviceMonitor/" + funcs.OperatorNamespace + "/jmx-exporters/0", JVMs: 3},
		{Name: "ScrapeConfig", Pool: "scrapeConfig/" + funcs.OperatorNamespace + "/jmx-exporters", JVMs: 3},
		// Annotations name one JVM of a pod.
		{Name: "PodMonitor", Pool: "podMonitor/" + funcs.OperatorNamespace + "/jmx-exporters/0", JVMs: 2, ByAnnotations: true},
	} {
		feature = feature.Assess(way.Name+": one target for each JVM, and none without the exporters", funcs.All(
			suite.Monitored("test/e2e/"+manifests+strings.ToLower(way.Name)),
			monitoring.Configured(way),
			funcs.Apply(namespace, exporters),
			monitoring.Targets(way, "jvm_memory_used_bytes", "java_lang_Threading_ThreadCount"),
			monitoring.Rules("jmx-endpoints", "jmx-exporter-operator"),
			monitoring.OnlyReloaded(),
			funcs.Delete(namespace, exporters),
			funcs.Gone(namespace),
			monitoring.NoTargets(way)))
	}
	testenv.Test(t, feature.
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}
