//go:build e2e

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// A change goes to one pod first; a change that this pod rejects goes no further.
func TestConfigurationRollout(t *testing.T) {
	namespace, applications, feature := running(t, "rollout", 3, 3, java17x3)
	t.Parallel()
	history := funcs.HistoryOf(namespace)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 3, port)).
		WithSetup("no configuration was reloaded", funcs.Counts(namespace, "jmx_config_reload_success_total", 0)).
		Assess("a new configuration reaches one pod first, then all", funcs.All(
			history.Begin(),
			funcs.Apply(namespace, "manifests/configuration/renamed.yaml"),
			funcs.Serves(namespace, "dummyapp_orders_total"),
			funcs.AllAnnotated(namespace, funcs.Exporter, 3, port),
			history.OneFirst(funcs.Exporter))).
		Assess("the agents count the reload", funcs.All(
			funcs.Counts(namespace, "jmx_config_reload_success_total", 1),
			funcs.Counts(namespace, "jmx_config_reload_failure_total", 0),
			funcs.LoadedOnce(namespace))).
		Assess("a configuration that only the agent rejects stops at the first pod", funcs.All(
			funcs.Apply(namespace, "manifests/rollout/rejected.yaml"),
			funcs.OneRefused(namespace, 3, v1alpha1.PhaseLoaded, v1alpha1.ReasonConfigRejected, "NoSuchScript"),
			funcs.Halted(namespace, funcs.Exporter, v1alpha1.ReasonConfigRejected, "NoSuchScript", "dummyapp-"),
			funcs.ExporterCondition(namespace, funcs.Exporter, v1alpha1.ConditionConfigValid, metav1.ConditionTrue, v1alpha1.ReasonValid))).
		Assess("all pods keep serving the previous configuration", funcs.All(
			funcs.Serves(namespace, "dummyapp_orders_total"),
			funcs.Published(namespace, funcs.Exporter, 3, port),
			funcs.Scrapable(namespace, port),
			funcs.Counts(namespace, "jmx_config_reload_success_total", 1),
			funcs.CountsInOne(namespace, "jmx_config_reload_failure_total"))).
		Assess("the fixed configuration reaches all pods", funcs.All(
			funcs.Apply(namespace, rules),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.AllAnnotated(namespace, funcs.Exporter, 3, port),
			funcs.Counts(namespace, "jmx_config_reload_success_total", 2))).
		Assess("existing endpoints keep serving without the ConfigMap", funcs.All(
			funcs.Delete(namespace, rules),
			funcs.ExporterCondition(namespace, funcs.Exporter, v1alpha1.ConditionConfigValid, metav1.ConditionFalse, v1alpha1.ReasonConfigMapMissing),
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.Published(namespace, funcs.Exporter, 3, port),
			funcs.Scrapable(namespace, port))).
		Assess("the exporter is Ready after the ConfigMap is restored", funcs.All(
			funcs.Apply(namespace, rules),
			funcs.AllAnnotated(namespace, funcs.Exporter, 3, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}

// A container that exits soon after an attach halts the rollout, until a user
// resumes it.
func TestRestartedAfterAttach(t *testing.T) {
	namespace, _, feature := running(t, "restarted-after", 2, 2, java17, java25)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("the exporter waits after the first pod", funcs.Apply(namespace, rules, "manifests/rollout/careful.yaml")).
		Assess("the first pod is Annotated and its JVM exits", funcs.FirstEnds(namespace, funcs.Exporter)).
		Assess("the rollout halts with a reason", funcs.All(
			funcs.Halted(namespace, funcs.Exporter, v1alpha1.ReasonRestartedAfterAttach, "dummyapp-", "exit code 137", "banzaicloud.com/resume-rollout"),
			funcs.Waiting(namespace, 2, 1, v1alpha1.ReasonRolloutHalted))).
		Assess("no pod is attached to, including the restarted one", funcs.All(
			funcs.Running(namespace, 2, 2),
			funcs.NothingLoaded(namespace),
			funcs.Annotations(namespace, nil),
			funcs.Published(namespace, funcs.Exporter, 0, port),
			funcs.Restarted(namespace, 1))).
		Assess("a shorter minReadySeconds does not resume the rollout", funcs.All(
			funcs.Patch(namespace, funcs.Exporter, `{"spec":{"rollout":{"canary":{"minReadySeconds":1}}}}`),
			funcs.Observed(namespace, funcs.Exporter),
			funcs.Halted(namespace, funcs.Exporter, v1alpha1.ReasonRestartedAfterAttach),
			funcs.NothingLoaded(namespace))).
		Assess("the rollout is resumed, and the restarted pod waits until it has run for long", funcs.All(
			funcs.Patch(namespace, funcs.Exporter, `{"metadata":{"annotations":{"banzaicloud.com/resume-rollout":"looked-at"}}}`),
			funcs.Published(namespace, funcs.Exporter, 1, port),
			funcs.Waiting(namespace, 2, 1, v1alpha1.ReasonContainerRestarting))).
		Assess("without a restartWindow, all pods are Annotated", funcs.All(
			funcs.Patch(namespace, funcs.Exporter, `{"spec":{"rollout":{"restartWindow":"0s"}}}`),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.LoadedOnce(namespace))).
		Assess("no container was restarted except by this test", funcs.Restarted(namespace, 1)).
		Feature())
}

// No more pods are attached to at once, in all and per node, than spec.rollout allows.
func TestGate(t *testing.T) {
	namespace, applications, feature := running(t, "gate", 6, 6, "manifests/rollout/six.yaml")
	t.Parallel()
	history := funcs.HistoryOf(namespace)
	testenv.Test(t, feature.
		Assess("at most two pods per node are attached to at once", funcs.All(
			history.Begin(),
			funcs.Apply(namespace, rules, "manifests/rollout/two-per-node.yaml"),
			funcs.AllAnnotated(namespace, funcs.Exporter, 6, port),
			history.AtMost(funcs.Exporter, 4, 2, 6))).
		Assess("a change is rolled out three pods at a time", funcs.All(
			history.Begin(),
			funcs.Apply(namespace, "manifests/rollout/three-at-once.yaml"),
			funcs.Apply(namespace, "manifests/configuration/renamed.yaml"),
			funcs.Serves(namespace, "dummyapp_orders_total"),
			funcs.AllAnnotated(namespace, funcs.Exporter, 6, port),
			history.AtMost(funcs.Exporter, 3, 6, 6))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}

// While suspended, nothing new is attached or changed, and existing endpoints stay.
func TestSuspended(t *testing.T) {
	namespace, applications, feature := running(t, "suspended", 1, 1, java17)
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("its pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		WithSetup("the exporter is suspended", funcs.Patch(namespace, funcs.Exporter, `{"spec":{"suspend":true}}`)).
		WithSetup("the operator has observed the exporter", funcs.Observed(namespace, funcs.Exporter)).
		Assess("a new pod is not attached to", funcs.All(
			funcs.Apply(namespace, java25),
			funcs.Running(namespace, 2, 2),
			funcs.ExporterCondition(namespace, funcs.Exporter, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended),
			funcs.Waiting(namespace, 2, 1, v1alpha1.ReasonSuspended),
			funcs.Published(namespace, funcs.Exporter, 1, port))).
		Assess("a change reaches no pod", funcs.All(
			funcs.Changes(namespace, funcs.Exporter, funcs.Apply(namespace, "manifests/configuration/renamed.yaml")),
			funcs.Waiting(namespace, 2, 1, v1alpha1.ReasonSuspended),
			funcs.ServesPods(namespace, "java=17", port, "dummyapp_requests_total"),
			funcs.Annotated(namespace, "java=17", "prometheus.io/scrape", "true"),
			applications.Untouched())).
		Assess("a resumed exporter continues", funcs.All(
			funcs.Patch(namespace, funcs.Exporter, `{"spec":{"suspend":false}}`),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.Serves(namespace, "dummyapp_orders_total"),
			funcs.LoadedOnce(namespace))).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}
