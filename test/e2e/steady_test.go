//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/test/e2e/funcs"
)

// An idle operator writes nothing and executes nothing. JMX_STEADY sets how long that is
// observed, a minute by default. No other feature runs at the same time.
func TestSteady(t *testing.T) {
	lasts := time.Minute
	if text := os.Getenv("JMX_STEADY"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatalf("JMX_STEADY: %v", err)
		}
	}
	namespace, applications, feature := running(t, "steady", 2, 3, java17, "manifests/steady/two.yaml")
	jvms := funcs.JVMsOf(namespace, funcs.Exporter)
	testenv.Test(t, feature.
		WithSetup("an exporter", funcs.Apply(namespace, rules, exporter)).
		WithSetup("the JVMs are served", jvms.Served(2, 3)).
		Assess("nothing happens", suite.Steady(namespace, lasts)).
		Assess("the JVMs are still served", jvms.StillServed(2, 3)).
		Assess("the agent was loaded once into each", funcs.LoadedOnce(namespace)).
		Assess("the applications are unchanged", applications.Untouched()).
		Feature())
}
