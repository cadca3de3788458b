package integration

import (
	"strings"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// With dynamicAgentLoading RefuseOnWarning, the agent is not loaded into a JVM that would warn,
// and no slot is held for the pod; agents that were loaded before are kept and reconfigured.
func TestRefuseOnWarning(t *testing.T) {
	t.Parallel()
	policy := func(f *fleet, is v1alpha1.DynamicAgentLoading) {
		change(f.t, f.exporter, func(e *v1alpha1.PrometheusJmxExporter) { e.Spec.DynamicAgentLoading = is })
	}
	const refused = "Discovered AgentLoadingWarns"
	f := aFleet(t, 1, nil)
	f.jvm(f.pods[0]).LoadWarns = true
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("dynamic loading is allowed by default", isAnnotated)
	if got := f.exporter; got.Spec.DynamicAgentLoading != v1alpha1.DynamicAgentLoadingAllow {
		t.Errorf("default of spec.dynamicAgentLoading: got %q, want Allow", got.Spec.DynamicAgentLoading)
	}
	f.later(2 * time.Minute)

	policy(f, v1alpha1.DynamicAgentLoadingRefuseOnWarning)
	quiet, warns := aPod("app-1"), aPod("app-2")
	warns.jvms["app"][0].LoadWarns = true
	f.pods = append(f.pods, f.run(quiet), f.run(warns))
	f.expect("JVMs that would warn are refused", isAnnotated, isAnnotated, refused)
	f.expectSums("JVMs that would warn are refused", "3/2/3, Ready False PodsRefused, Stalled True PodsRefused")
	if says := (&story{f.cluster, f.pods[2], f.exporter}).message("JavaFound"); !strings.Contains(says, "-XX:+EnableDynamicAgentLoading") {
		t.Errorf("message of JavaFound does not name the JVM option: %q", says)
	}
	f.containers.Called()
	f.o.did()
	f.later(24 * time.Hour)
	if f.o.settle(); f.o.count() > 0 || len(f.containers.Called()) > 0 {
		t.Errorf("effects in a refused pod: got %q, want none", f.o.did())
	}

	f.configure(changed)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("the configuration changes", isAnnotated, isAnnotated, refused)
	if j := f.jvm(f.pods[0]); j.Loads != 1 || len(j.Asked) != 2 {
		t.Errorf("got %d loads for %d configurations, want one for two", j.Loads, len(j.Asked))
	}

	policy(f, v1alpha1.DynamicAgentLoadingAllow)
	f.o.settle()
	f.later(5 * time.Second)
	f.expect("dynamic loading is allowed again", isAnnotated, isAnnotated, isAnnotated)
}
