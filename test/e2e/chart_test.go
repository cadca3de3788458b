//go:build e2e

package e2e

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The chart is installed, upgraded to the next release, rolled back and removed, while JVMs
// keep running and are scraped. Each release runs at most one command in each pod. No other
// feature runs at the same time.
func TestChart(t *testing.T) {
	namespace, applications, feature := running(t, "chart", 5, 5, demo+"dummyapp.yaml", demo+"distroless.yaml")
	scraper, implementations, agents := funcs.ScraperOf(namespace), funcs.ImplementationsIn(namespace), funcs.AgentsIn(namespace)
	unchanged := applications.UntouchedButWarned("dummyapp:25")
	testenv.Test(t, demoPath(namespace, applications, feature.
		WithSetup("the operator is restored", suite.PutBack()).
		WithSetup("no operator is installed", suite.Undeployed()).
		WithSetup("the chart is installed", suite.ChartReleased("install", "jmx-exporter-operator:dev")).
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("all pods are Annotated", funcs.AllAnnotated(namespace, funcs.Exporter, 5, port)).
		WithSetup("the agents are recorded", agents.Remember()).
		WithSetup("the running implementation is recorded", implementations.Remember()).
		WithSetup("the pods are scraped", scraper.Begin(port)), 5).
		Assess("an upgrade updates the implementation in every JVM", funcs.All(
			suite.ChartReleased("upgrade", "jmx-exporter-operator:next"),
			implementations.Changed(),
			funcs.AllAnnotated(namespace, funcs.Exporter, 5, port),
			funcs.LoadedOnce(namespace),
			funcs.ExecsAtMost(5),
			scraper.Answered())).
		Assess("a rollback restores the old one", funcs.All(
			suite.ChartRolledBack(),
			implementations.Back(),
			funcs.AllAnnotated(namespace, funcs.Exporter, 5, port),
			funcs.LoadedOnce(namespace),
			funcs.ExecsAtMost(5),
			scraper.Answered())).
		Assess("two operators share the namespaces, and update every JVM", funcs.All(
			suite.ChartSharded(2, "jmx-exporter-operator:next"),
			implementations.Changed(),
			funcs.AllAnnotated(namespace, funcs.Exporter, 5, port),
			funcs.LoadedOnce(namespace),
			scraper.Answered())).
		Assess("one takes over from both", funcs.All(
			suite.ChartReleased("upgrade", "jmx-exporter-operator:dev"),
			implementations.Back(),
			funcs.AllAnnotated(namespace, funcs.Exporter, 5, port),
			funcs.LoadedOnce(namespace),
			funcs.ExecsAtMost(5),
			scraper.Answered())).
		Assess("the applications are unchanged", unchanged).
		Assess("the exporter is deleted", funcs.All(
			funcs.Delete(namespace, exporter),
			funcs.Gone(namespace),
			funcs.Annotations(namespace, nil))).
		Assess("the agents are stopped", suite.Stopped(agents, 1)).
		Assess("nothing of the release but the kinds remains", suite.ChartUninstalled()).
		Assess("the applications are still unchanged", unchanged).
		Feature())
}
