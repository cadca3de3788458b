package record

import (
	"fmt"
	"strings"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// A reason determines the status of its condition and what resolves it.
func TestOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		outcome statemachine.Outcome
		kind    statemachine.Kind
		want    string
	}{
		"the step is done":      {Done(), statemachine.Done, "True"},
		"there is no capacity":  {NotDone(v1alpha1.ReasonQueued, "x"), statemachine.Queued, "Unknown Queued"},
		"an event resolves it":  {NotDone(v1alpha1.ReasonEndpointPending, "x"), statemachine.Awaiting, "Unknown EndpointPending"},
		"it resolves by itself": {NotDone(v1alpha1.ReasonProcessGone, "x"), statemachine.Pending, "Unknown ProcessGone"},
		"it is retried":         {NotDone(v1alpha1.ReasonPortInUse, "x"), statemachine.Failed, "False PortInUse"},
		"an event corrects it":  {NotDone(v1alpha1.ReasonConfigNotYAML, "x"), statemachine.Broken, "False ConfigNotYAML"},
		"it needs a person":     {NotDone(v1alpha1.ReasonNoShell, "x"), statemachine.Refused, "False NoShell"},
		"the reason is unknown": {NotDone("NeverHeardOf", "x"), statemachine.Failed, "False NeverHeardOf"},
	} {
		got := fmt.Sprintf("%s %s ", tc.outcome.Kind.Status(), tc.outcome.Reason)
		if got = strings.TrimSpace(got); got != tc.want || tc.outcome.Kind != tc.kind {
			t.Errorf("%s: got %d %q, want %d %q", name, tc.outcome.Kind, got, tc.kind, tc.want)
		}
	}
}
