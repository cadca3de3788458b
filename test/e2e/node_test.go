//go:build e2e

package e2e

import (
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/features"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
	"banzaicloud.com/jmx-exporter-operator/test/e2e/kinds"
)

// The demo by node agents only: with config/transport-node nothing is executed in any pod of
// others, and nothing is added to one. Node agents are killed while they attach to ten more
// pods. No other feature runs at the same time.
func TestDemoByNode(t *testing.T) {
	namespace, applications, feature := running(t, "demo-by-node", 5, 5, demo+"dummyapp.yaml", demo+"distroless.yaml")
	killed := funcs.NamespaceFor("demo-by-node-killed")
	others := funcs.ApplicationsIn(killed)
	testenv.Test(t, demoPath(namespace, applications, feature.
		WithSetup("ten more pods run", funcs.All(
			funcs.InNamespace(killed),
			funcs.Apply(killed, "manifests/killed/app.yaml"),
			funcs.Running(killed, 10, 10),
			others.Remember())).
		WithSetup("the operator may only use node agents", suite.DeployedInstead("config/transport-node")).
		WithSetup("a node agent is ready on each node", funcs.NodeAgents()).
		WithSetup("the operator may not execute anything in pods of others", funcs.MayCreate("exec", false)).
		WithSetup("the operator may not add ephemeral containers", funcs.MayPatch("ephemeralcontainers", false)), 5).
		Assess("pods are reached through node agents", funcs.ReachedBy(namespace, v1alpha1.TransportNode)).
		Assess("no helper was installed in any container", funcs.NoHelperInside(namespace)).
		Assess("nothing was executed in any container", funcs.NoExec(namespace)).
		Assess("what a thief of the operator's token tries in a node agent is refused", funcs.StolenTokenAtNodeAgents()).
		Assess("node agents are killed while they attach", funcs.NodeAgentsKilled(killed, rules, exporter)).
		Assess("all pods become Annotated", funcs.AllAnnotated(killed, funcs.Exporter, 10, port)).
		Assess("the agent was loaded once", funcs.LoadedOnce(killed)).
		Assess("the applications are unchanged", others.Untouched()).
		Assess("nothing of the operator remains after the exporter is deleted", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.Uninstalled(namespace),
			funcs.Annotations(namespace, nil),
			applications.UntouchedButWarned("dummyapp:25"))).
		Feature())
}

// beside is config/default with node agents.
const beside = "test/e2e/manifests/node"

// A pod that is attached is moved from each transport to each other one, without another load.
// No other feature runs at the same time.
func TestTransportMoved(t *testing.T) {
	namespace, applications, feature := running(t, "moved", 1, 1, java17)
	// What is healthy is not visited, so each move goes with another configuration.
	configurations := []string{rules, "manifests/configuration/renamed.yaml"}
	moved := func(i int, to v1alpha1.Transport) features.Func {
		return funcs.All(
			funcs.Patch(namespace, funcs.Exporter, `{"spec":{"transport":"`+string(to)+`"}}`),
			funcs.Apply(namespace, configurations[(i+1)%2]),
			funcs.AttachedBy(namespace, to),
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.LoadedOnce(namespace))
	}
	feature.
		WithSetup("the operator may use all transports", suite.DeployedInstead(beside)).
		WithSetup("a node agent is ready on each node", funcs.NodeAgents()).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		Assess("the node agent is preferred", funcs.All(
			funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
			funcs.AttachedBy(namespace, v1alpha1.TransportNode)))
	for i, to := range []v1alpha1.Transport{
		v1alpha1.TransportExec, v1alpha1.TransportEphemeralContainer, v1alpha1.TransportNode,
		v1alpha1.TransportEphemeralContainer, v1alpha1.TransportExec, v1alpha1.TransportNode,
	} {
		feature.Assess("it is moved to "+string(to), moved(i, to))
	}
	testenv.Test(t, feature.
		Assess("the application is unchanged", applications.Untouched()).
		Assess("nothing of the operator remains after the exporter is deleted", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.Uninstalled(namespace),
			funcs.Annotations(namespace, nil),
			applications.Untouched())).
		Feature())
}

// Every kind of pod is attached to, or refused, by a node agent. No other feature runs at the
// same time.
func TestKindsByNode(t *testing.T) {
	testenv.Test(t, features.New("kinds-by-node").
		WithSetup("the operator may use all transports", suite.DeployedInstead(beside)).
		WithSetup("a node agent is ready on each node", funcs.NodeAgents()).
		Assess("each kind", funcs.Within(func(t *testing.T) {
			for _, k := range kinds.ByNode() {
				t.Run(k.Name, func(t *testing.T) {
					t.Parallel()
					testenv.Test(t, ofKind(k).Feature())
				})
			}
		})).
		Feature())
}

// A static pod without a shell, which gets no ephemeral container, is attached to by a node
// agent. No other feature runs at the same time.
func TestStaticPodByNode(t *testing.T) {
	namespace, applications, feature := static("static-by-node", kinds.Change{Container: `image: "dummyapp:17-noshell"`})
	testenv.Test(t, feature.
		WithSetup("the operator may use all transports", suite.DeployedInstead(beside)).
		Assess("the pod is Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 1, port)).
		Assess("it is reached through a node agent", funcs.ReachedBy(namespace, v1alpha1.TransportNode)).
		Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
		Assess("the application is unchanged", applications.Untouched()).
		Assess("nothing of the operator remains after the exporter is deleted", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.NoRecord(namespace),
			funcs.NothingInstalled(namespace),
			funcs.Annotations(namespace, nil))).
		Feature())
}
