package attachment

import (
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// A pod that has a revision gets what is kept of it. One that was granted it and does not serve
// it gets that only while nothing else is rolled out.
func TestHas(t *testing.T) {
	const granted = "b"
	serving := []v1alpha1.JavaProcess{{Port: 9400, ConfigSHA256: "kept", Intent: &v1alpha1.LoadIntent{}}}
	var kept, current, invalid steps.Inputs
	kept.Config.SHA256, current.Config.SHA256, invalid.Config.Problem = "kept", "current", &steps.Problem{}
	for name, tc := range map[string]struct {
		revision string
		serves   []v1alpha1.JavaProcess
		inputs   steps.Inputs
		want     bool
	}{
		"it serves it, and another one is rolled out":              {revision: granted, serves: serving, inputs: current, want: true},
		"it serves it, and the configuration is invalid":           {revision: granted, serves: serving, inputs: invalid, want: true},
		"it does not serve it yet, and another one is rolled out":  {revision: granted, inputs: current},
		"it does not serve it, and the configuration is invalid":   {revision: granted, inputs: invalid, want: true},
		"it never began with it, and the configuration is invalid": {revision: "a", inputs: invalid},
	} {
		status := &v1alpha1.JmxAttachmentStatus{Revision: tc.revision, Processes: tc.serves}
		if got := has(status, granted, tc.inputs, kept, &steps.Artifacts{}); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}
