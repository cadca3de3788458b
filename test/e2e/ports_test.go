//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

const moved = 9401

// The metrics move to another port without a gap, and annotation and endpoint follow.
func TestPortChanged(t *testing.T) {
	namespace, applications, feature := running(t, "port-changed", 1, 1, java17)
	t.Parallel()
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the JVM is served", funcs.All(
			jvms.Served(1, 1),
			jvms.On(map[string][]int32{"dummyapp": {port}}))).
		Assess("one of the two ports answers all the time during a port change", funcs.WatchPorts(namespace, port, moved).During(
			funcs.Apply(namespace, "manifests/ports/moved.yaml"),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, moved))).
		Assess("annotation and endpoint name the new port", funcs.All(
			jvms.Served(1, 1),
			jvms.On(map[string][]int32{"dummyapp": {moved}}),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("the old port is closed", funcs.Closed(namespace, port)).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}

// The agent does not move to a port that is in use: the old port keeps serving.
func TestPortChangedToBusy(t *testing.T) {
	namespace, applications, feature := running(t, "port-busy", 1, 1, "manifests/ports/app.yaml")
	t.Parallel()
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the JVM is served", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("the application's own port is in use", funcs.All(
			funcs.Apply(namespace, "manifests/ports/moved.yaml"),
			funcs.ConditionWithReason(namespace, 1, v1alpha1.PhaseLoaded, v1alpha1.ReasonPortInUse, "9401"))).
		Assess("the old port serves, and annotation and endpoint name it", funcs.All(
			funcs.Serves(namespace, "dummyapp_requests_total"),
			funcs.Scrapable(namespace, port),
			funcs.Published(namespace, funcs.Exporter, 1, port))).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the exporter is Ready after spec.port is reverted", funcs.All(
			funcs.Apply(namespace, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.LoadedOnce(namespace))).
		Assess("the application is unchanged", applications.Untouched()).
		Feature())
}

// Without spec.port, a port is chosen, also in pods that share the node's network, and
// stays the same. The operator is restarted: no other feature runs at the same
// time.
func TestPortChosen(t *testing.T) {
	namespace, applications, feature := running(t, "port-chosen", 3, 3, java17, "manifests/ports/host.yaml")
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("the operator runs with --allow-host-network", suite.Flags("--allow-host-network")).
		WithSetup("the exporter has no port", funcs.Apply(namespace, rules, "manifests/ports/chosen.yaml")).
		Assess("every JVM is served, those on the host's network on different ports", funcs.All(
			jvms.Served(3, 3),
			jvms.Apart("dummyapp", 1),
			jvms.Apart("host", 2),
			funcs.Serves(namespace, "dummyapp_requests_total"))).
		Assess("an ordinary pod has the first port", jvms.On(map[string][]int32{"dummyapp": {9404}}, "host")).
		Assess("a restarted operator changes no port", funcs.All(
			suite.OperatorReplaced(3),
			jvms.StillServed(3, 3))).
		Assess("each agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}
