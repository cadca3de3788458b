//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// The lifecycle of an agent in each tested Java version: docs/compatibility.md
// has the results. The versions are those of hack/jvms and the two JDKs.
func TestEachJava(t *testing.T) {
	t.Parallel()
	for _, major := range []int{8, 11, 17, 21, 25, 26, 27, 28} {
		t.Run("jdk"+strconv.Itoa(major), func(t *testing.T) {
			namespace, applications, feature := running(t, "java-"+strconv.Itoa(major), 1, 1, manifestOf(t, major))
			t.Parallel()
			agents := funcs.AgentsIn(namespace)
			warned := ""
			if major >= 21 { // JEP 451
				warned = "dummyapp:" + strconv.Itoa(major)
			}
			testenv.Test(t, feature.
				WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
				Assess("the JVM is attached to, and scraped", funcs.All(
					funcs.AllAnnotated(namespace, funcs.Exporter, 1, port),
					funcs.Serves(namespace, "dummyapp_requests_total"))).
				Assess("a new configuration serves a new metric", funcs.All(
					funcs.Apply(namespace, "manifests/configuration/renamed.yaml"),
					funcs.Serves(namespace, "dummyapp_orders_total"),
					funcs.AllAnnotated(namespace, funcs.Exporter, 1, port))).
				Assess("the port changes", funcs.All(
					funcs.Apply(namespace, "manifests/ports/moved.yaml"),
					funcs.AllAnnotated(namespace, funcs.Exporter, 1, moved),
					funcs.Serves(namespace, "dummyapp_orders_total"),
					funcs.Closed(namespace, port))).
				Assess("the agent was loaded once", funcs.LoadedOnce(namespace)).
				Assess("the agent is recorded", agents.Remember()).
				Assess("the exporter is deleted", funcs.All(
					funcs.Delete(namespace, exporter),
					funcs.Gone(namespace))).
				Assess("the agent is stopped and nothing of it remains", suite.Stopped(agents, 1)).
				Assess("the application is unchanged", applications.UntouchedButWarned(warned)).
				Feature())
		})
	}
}

// manifestOf writes the manifest of a Java version.
func manifestOf(t *testing.T, major int) string {
	t.Helper()
	template, err := os.ReadFile("manifests/jvms/app.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(template), "MAJOR", strconv.Itoa(major))), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
