package attachment

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// A pod has had a revision once its record says so, and not when it was granted one.
func TestHad(t *testing.T) {
	for name, tc := range map[string]struct {
		granted, has string
		want         bool
	}{
		"it was granted nothing":     {},
		"it was granted its first":   {granted: "a"},
		"it was granted another":     {granted: "b", has: "a"},
		"it has what it was granted": {granted: "a", has: "a", want: true},
		"its grant is withdrawn":     {has: "a"},
	} {
		a := &v1alpha1.JmxAttachment{}
		a.Spec.Revision, a.Status.Revision = tc.granted, tc.has
		if got := had(a); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

// A rollout has stopped while the configuration is invalid, and while it is halted.
func TestStopped(t *testing.T) {
	exporter, inputs := &v1alpha1.PrometheusJmxExporter{}, steps.Inputs{}
	if stopped(exporter, inputs) {
		t.Error("a rollout that goes on has stopped")
	}
	inputs.Config.Problem = &steps.Problem{}
	if !stopped(exporter, inputs) {
		t.Error("with an invalid configuration, the rollout goes on")
	}
	exporter.Status.Halt = &v1alpha1.Halt{}
	if !stopped(exporter, steps.Inputs{}) {
		t.Error("a halted rollout goes on")
	}
}
