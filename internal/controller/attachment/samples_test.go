package attachment

import (
	"path/filepath"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
	"banzaicloud.com/jmx-exporter-operator/test/golden"
)

// TestSamples is the counterpart of the exporter's: records for test/gitops. go test
// -update writes the files.
func TestSamples(t *testing.T) {
	at := func(phase statemachine.Phase, reason, message string) statemachine.State {
		return statemachine.State{Phase: phase, Reason: reason, Message: message}
	}
	cases := map[string]statemachine.State{
		"attachment-in-progress": at(steps.Discovered, "", ""),
		"attachment-passing":     at(steps.Discovered, v1alpha1.ReasonJVMStarting, "The JVM is starting."),
		"attachment-failing":     at(steps.Discovered, v1alpha1.ReasonNoJavaProcess, "No Java process was found."),
		"attachment-refused":     at(steps.Discovered, v1alpha1.ReasonAttachDisabled, "The JVM runs with -XX:+DisableAttachMechanism."),
		"attachment-ready":       at(steps.Annotated, "", ""),
		"attachment-detaching":   at(steps.Annotated, "", ""),
	}
	for name, state := range cases {
		t.Run(name, func(t *testing.T) {
			s := aSituation()
			if state.Phase == steps.Annotated {
				s = servingPod()
				s.Status().Processes[0].Phase = v1alpha1.PhaseExposed
			}
			s.Attachment.Generation = 1
			v := aBench().of(s)
			v.State = state
			v.setConditions()
			if name == "attachment-detaching" {
				if err := v.persistBegun(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			a := v.Attachment
			a.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("JmxAttachment"))
			a.Name, a.Namespace = name, "shop"
			golden.CompareYAML(t, filepath.Join("../../../test/gitops/testdata", name+".yaml"), a)
		})
	}
}
