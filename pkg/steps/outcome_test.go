package steps

import (
	"github.com/google/go-cmp/cmp"

	"errors"
	"fmt"
	"testing"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// The outcome of a failed effect has the reason of the error; an error without a reason is
// retried.
func TestFailed(t *testing.T) {
	cause := errors.New("connection reset")
	for name, tc := range map[string]struct {
		outcome statemachine.Outcome
		kind    statemachine.Kind
		want    string
	}{
		"the error has a reason":  {failed(fmt.Errorf("load: %w", &transport.Error{Reason: v1alpha1.ReasonExecTimeout, Err: cause})), statemachine.Failed, "ExecTimeout connection reset"},
		"the error has no reason": {failed(cause), statemachine.Failed, "APIError connection reset"},
		"the error is Queued":     {failed(&transport.Error{Reason: v1alpha1.ReasonQueued}), statemachine.Queued, "Queued"},
	} {
		got := tc.outcome.Reason
		if tc.outcome.Err != nil {
			got += " " + tc.outcome.Err.Error()
		}
		if got != tc.want || tc.outcome.Kind != tc.kind {
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
