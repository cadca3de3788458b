//go:build e2e

package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The operator may die between any two lines: it is killed with SIGKILL while agents are
// loaded. It is idle when there is nothing to do. Then it is upgraded, downgraded,
// uninstalled and reinstalled while JVMs keep running and are scraped. No other feature
// runs at the same time.
func TestOperatorLife(t *testing.T) {
	namespace, applications, feature := running(t, "life", 2, 2, java17, java25)
	going, orphaned := funcs.NamespaceFor("life-going"), funcs.NamespaceFor("life-orphaned")
	scraper, implementations := funcs.ScraperOf(namespace), funcs.ImplementationsIn(namespace)
	orphans := funcs.AgentsIn(orphaned)
	for _, n := range []string{going, orphaned} {
		feature.
			WithSetup("another namespace", funcs.InNamespace(n)).
			WithSetup("an application exists", funcs.Apply(n, java17)).
			WithSetup("the pod is running", funcs.Running(n, 1, 1)).
			WithSetup("an exporter exists", funcs.Apply(n, rules, exporter))
	}
	testenv.Test(t, feature.
		WithSetup("the operator is restored", suite.PutBack()).
		// The scraper goes on to the end of what it begins in.
		WithSetup("the operator is killed while pods are in progress", suite.KilledMidway(namespace, 2, rules, exporter)).
		WithSetup("all pods are Annotated", funcs.All(
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.AllAnnotated(going, funcs.Exporter, 1, port),
			funcs.AllAnnotated(orphaned, funcs.Exporter, 1, port))).
		WithSetup("each agent was loaded once", funcs.LoadedOnce(namespace)).
		WithSetup("nothing happens when there is nothing to do", suite.Steady(namespace, 15*time.Second)). // longer than the interval of health checks
		WithSetup("the agents are recorded", orphans.Remember()).
		WithSetup("the pods are scraped", scraper.Begin(port)).
		WithSetup("the running implementation is recorded", implementations.Remember()).
		Assess("deleted records are rebuilt with the same agents", funcs.All(
			funcs.RecordsRebuilt(namespace),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.LoadedOnce(namespace))).
		// They accept both releases, and are deployed first: docs/containment.md.
		Assess("the policies of the next release are applied", funcs.Apply(funcs.OperatorNamespace, "../../bin/next/policies/exec.yaml")).
		Assess("an upgrade updates the implementation in every JVM", funcs.All(
			suite.Runs("jmx-exporter-operator:next"),
			implementations.Changed(),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.LoadedOnce(namespace))).
		Assess("pods are scraped without interruption", scraper.Answered()).
		Assess("a downgrade restores the old implementation", funcs.All(
			suite.Runs("jmx-exporter-operator:dev"),
			implementations.Back(),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.LoadedOnce(namespace))).
		Assess("pods are still scraped without interruption", scraper.Answered()).
		Assess("the applications are unchanged except for one warning", applications.UntouchedButWarned("dummyapp:25")).
		Assess("the operator is uninstalled without detaching", funcs.All(
			suite.Uninstalled(),
			funcs.Published(namespace, funcs.Exporter, 2, port),
			funcs.Scrapable(namespace, port),
			scraper.Answered())).
		Assess("a namespace can be deleted without the operator", funcs.All(
			funcs.Delete(going, exporter),
			funcs.NamespaceGone(going))).
		Assess("an exporter in another namespace can be deleted without the operator", funcs.Delete(orphaned, exporter)).
		Assess("a reinstalled operator finds the remaining agents", funcs.All(
			suite.Installed(),
			funcs.RecordsRebuilt(namespace),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.LoadedOnce(namespace),
			scraper.Answered())).
		Assess("pods released meanwhile are detached", funcs.All(
			funcs.Gone(orphaned),
			funcs.Annotations(orphaned, nil),
			funcs.Told(orphaned, corev1.EventTypeNormal, "Detached"),
			suite.Stopped(orphans, 1))).
		Assess("the applications are still unchanged", applications.UntouchedButWarned("dummyapp:25")).
		Feature())
}

// hack/undeploy deletes every exporter of the cluster first, and then the
// operator. No other feature runs at the same time.
func TestUndeployed(t *testing.T) {
	namespace, applications, feature := running(t, "undeployed", 2, 2, java17, java25)
	agents := funcs.AgentsIn(namespace)
	testenv.Test(t, feature.
		WithSetup("the operator is restored", suite.PutBack()).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 2, port)).
		WithSetup("the agents are recorded", agents.Remember()).
		Assess("nothing of the operator remains in the cluster", suite.Undeployed()).
		Assess("nothing of the operator remains in the pods", funcs.All(
			suite.Stopped(agents, 1),
			funcs.Annotations(namespace, nil))).
		Assess("the applications are unchanged", applications.UntouchedButWarned("dummyapp:25")).
		Assess("the operator can be installed again", funcs.All(
			suite.Installed(),
			funcs.Apply(namespace, exporter),
			funcs.AllAnnotated(namespace, funcs.Exporter, 2, port),
			funcs.Loaded(namespace, 2))).
		Feature())
}
