package steps

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// A reason determines the status of its condition and what resolves it; an error without a
// reason is retried.
func TestOutcome(t *testing.T) {
	cause := errors.New("connection reset")
	for name, tc := range map[string]struct {
		outcome statemachine.Outcome
		kind    statemachine.Kind
		want    string
	}{
		"the step is done":        {record.Done(), statemachine.Done, "True"},
		"there is no capacity":    {record.NotDone(v1alpha1.ReasonQueued, "x"), statemachine.Queued, "Unknown Queued"},
		"an event resolves it":    {record.NotDone(v1alpha1.ReasonEndpointPending, "x"), statemachine.Awaiting, "Unknown EndpointPending"},
		"it resolves by itself":   {record.NotDone(v1alpha1.ReasonProcessGone, "x"), statemachine.Pending, "Unknown ProcessGone"},
		"it is retried":           {record.NotDone(v1alpha1.ReasonPortInUse, "x"), statemachine.Failed, "False PortInUse"},
		"an event corrects it":    {record.NotDone(v1alpha1.ReasonConfigNotYAML, "x"), statemachine.Broken, "False ConfigNotYAML"},
		"it needs a person":       {record.NotDone(v1alpha1.ReasonNoShell, "x"), statemachine.Refused, "False NoShell"},
		"the reason is unknown":   {record.NotDone("NeverHeardOf", "x"), statemachine.Failed, "False NeverHeardOf"},
		"the error has a reason":  {failed(fmt.Errorf("load: %w", &transport.Error{Reason: v1alpha1.ReasonExecTimeout, Err: cause})), statemachine.Failed, "False ExecTimeout connection reset"},
		"the error has no reason": {failed(cause), statemachine.Failed, "False APIError connection reset"},
		"the error is Queued":     {failed(&transport.Error{Reason: v1alpha1.ReasonQueued}), statemachine.Queued, "Unknown Queued"},
	} {
		got := fmt.Sprintf("%s %s ", tc.outcome.Kind.Status(), tc.outcome.Reason)
		if tc.outcome.Err != nil {
			got += tc.outcome.Err.Error()
		}
		if got = strings.TrimSpace(got); got != tc.want || tc.outcome.Kind != tc.kind {
			t.Errorf("%s: got %d %q, want %d %q", name, tc.outcome.Kind, got, tc.kind, tc.want)
		}
	}
}

// The steps of the pod and of its JVMs implement each phase of the plan once.
func TestStepsCoverThePlan(t *testing.T) {
	var got []statemachine.Phase
	for _, step := range PodSteps(Tools{})[:2] {
		got = append(got, step.Phase())
	}
	for _, step := range JVMSteps(Tools{}) {
		got = append(got, step.Phase())
	}
	got = append(got, PodSteps(Tools{})[2].Phase())
	if diff := cmp.Diff(Plan.Phases(), got); diff != "" {
		t.Errorf("phases of the steps (-want +got):\n%s", diff)
	}
}
