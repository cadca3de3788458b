//go:build e2e

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// An invalid configuration is reported before anything is loaded. Each mistake replaces
// the previous one; the last change corrects all of them.
func TestConfiguration(t *testing.T) {
	namespace, applications, feature := running(t, "configuration", 1, 1, java17)
	t.Parallel()
	feature.WithSetup("the exporter has no ConfigMap", funcs.Apply(namespace, exporter))
	for _, c := range []struct {
		name, file, reason string
		words              []string
	}{
		{"the ConfigMap is missing", "", v1alpha1.ReasonConfigMapMissing, []string{"prometheus-jmx-exporter-config"}},
		{"the key is missing", "key-missing", v1alpha1.ReasonConfigKeyMissing, []string{"config.yaml"}},
		{"the content is not YAML", "not-yaml", v1alpha1.ReasonConfigNotYAML, []string{"config.yaml"}},
		{"a key is unknown", "unknown-key", v1alpha1.ReasonConfigInvalid, []string{"line 4", "pattern"}},
		{"a value has the wrong type", "wrong-type", v1alpha1.ReasonConfigInvalid, []string{"line 2", "lowercaseOutputName"}},
		{"a key is forbidden", "forbidden", v1alpha1.ReasonConfigForbidden, []string{"hostPort"}},
		{"the content is too large", "too-large", v1alpha1.ReasonConfigTooLarge, []string{"262144 are accepted"}},
	} {
		switch c.file {
		case "":
		case "too-large":
			feature.Assess(c.name, funcs.TooLarge(namespace))
		default:
			feature.Assess(c.name, funcs.Apply(namespace, "manifests/configuration/"+c.file+".yaml"))
		}
		feature.
			Assess(c.name+": "+c.reason, funcs.All(
				funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseStaged, c.reason, c.words...),
				funcs.ExporterCondition(namespace, funcs.Exporter, v1alpha1.ConditionConfigValid, metav1.ConditionFalse, c.reason, c.words...),
				funcs.ExporterTold(namespace, funcs.Exporter, corev1.EventTypeWarning, c.reason)))
	}
	testenv.Test(t, feature.
		Assess("nothing is loaded", funcs.NothingLoaded(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("the pod is Annotated after the fix", funcs.All(
			funcs.Apply(namespace, rules),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is still unchanged", applications.Untouched()).
		Feature())
}

// A change reaches the running agent without a second load, which Java 25 would show by its
// warning. Deleting the exporter removes everything that it created, and nothing else.
func TestChanges(t *testing.T) {
	const pods = 3
	namespace, applications, feature := running(t, "changes", pods, pods, manifestOf(t, 8), "manifests/foreign-annotations/team.yaml", java25)
	t.Parallel()
	agents := funcs.AgentsIn(namespace)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, pods, port)).
		Assess("a new configuration serves a new metric", funcs.All(
			funcs.Apply(namespace, "manifests/configuration/renamed.yaml"),
			funcs.Serves(namespace, "dummyapp_orders_total"),
			funcs.AllAnnotated(namespace, funcs.Exporter, pods, port),
			funcs.LoadedOnce(namespace))).
		Assess("an invalid configuration removes no endpoint", funcs.All(
			funcs.Apply(namespace, "manifests/configuration/not-yaml.yaml"),
			funcs.ExporterCondition(namespace, funcs.Exporter, v1alpha1.ConditionConfigValid, metav1.ConditionFalse, v1alpha1.ReasonConfigNotYAML),
			funcs.Scrapable(namespace, port),
			funcs.Published(namespace, funcs.Exporter, pods, port),
			funcs.Serves(namespace, "dummyapp_orders_total"))).
		Assess("all pods are Annotated after the fix", funcs.All(
			funcs.Apply(namespace, rules),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.AllAnnotated(namespace, funcs.Exporter, pods, port),
			funcs.LoadedOnce(namespace))).
		Assess("a new port is served, annotated and published", funcs.All(
			funcs.Apply(namespace, "manifests/changes/port.yaml"),
			funcs.AllAnnotated(namespace, funcs.Exporter, pods, moved),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.Closed(namespace, port),
			funcs.LoadedOnce(namespace))).
		Assess("the agents are recorded", agents.Remember()).
		Assess("the exporter is deleted", funcs.Delete(namespace, exporter)).
		Assess("JmxAttachments, Service and EndpointSlices are deleted", funcs.Gone(namespace)).
		Assess("the operator's annotations are removed", funcs.Annotations(namespace, nil)).
		Assess("the foreign annotation stays", funcs.Annotated(namespace, "java=17", "example.com/team", "orders")).
		Assess("an Event reports that the agents were stopped", funcs.Told(namespace, corev1.EventTypeNormal, "Detached")).
		Assess("agents are stopped", suite.Stopped(agents, 1)).
		Assess("the applications are unchanged except for one warning", applications.UntouchedButWarned("dummyapp:25")).
		Feature())
}
