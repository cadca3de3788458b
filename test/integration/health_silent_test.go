package integration

import (
	"errors"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/probe"
)

// An agent that was stopped by someone else serves again, and its files are staged again
// if they were removed as jmx-attach unload does.
func TestListenStopped(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		without bool
		want    string
	}{
		"the files stay":        {false, "status load"},
		"the files are removed": {true, "status load inspect stage load"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := checked(t, aPod("app-0"), nil)
			s.later(time.Hour)
			s.jvm(s.pod).Mark = &helperapi.Mark{Protocol: 1, State: helperapi.AgentStopped}
			if tc.without {
				s.container(s.pod).RemoveFiles()
			}
			s.containers.HealthFault = errors.Join(probe.ErrUnreachable, errors.New("connection refused"))
			s.staySilent(o)
			s.containers.Mend()
			o.outlastFor(12)
			s.isAnnotated("9400")
			if got := s.verbs(); got != tc.want || !s.jvm(s.pod).Running() {
				t.Errorf("got helper operations %q, or the agent is not running", got)
			}
		})
	}
}

// The agent serves, but the operator cannot reach the pod: that is recorded once, and the
// endpoint is checked every ten minutes without another exec, until it
// answers again.
func TestHealthCutOff(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a NetworkPolicy blocks the operator": errors.Join(probe.ErrUnreachable, errors.New("no route")),
		"a mesh blocks the operator":          errors.New("malformed HTTP response"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isCutOff(t, err)
		})
	}
}

func isCutOff(t *testing.T, err error) {
	t.Helper()
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.HealthFault = err
	from := func() v1alpha1.CheckedFrom { return s.attachment(s.pod).Status.Processes[0].Endpoint.CheckedFrom }
	s.staySilent(o)
	if got := s.verbs(); got != "status" || from() != v1alpha1.CheckedFromPod {
		t.Errorf("got helper operations %q and checkedFrom %s, want a status from the pod", got, from())
	}
	for i := range 4 {
		did, after := s.nextCheck(o)
		if i == 0 { // the interval from before it was recorded
			continue
		}
		if len(did) != 1 || did[0] != "http health" || after < 10*time.Minute || after > 12*time.Minute {
			t.Errorf("got effects %q and the next check after %s, want one http health after 10m to 12m", did, after)
		}
	}
	if got := s.verbs(); got != "" {
		t.Errorf("helper operations: got %q, want %q", got, "")
	}
	s.isAnnotated("9400")
	s.containers.Mend()
	s.nextCheck(o)
	if from() != v1alpha1.CheckedFromOperator {
		t.Errorf("checkedFrom: got %s, want %s", from(), v1alpha1.CheckedFromOperator)
	}
	o.outlastFor(3)
	s.isAnnotated("9400")
}

// The endpoint does not serve although its JVM lives: after the third check the status
// reports that, and the endpoint is checked until it answers.
func TestHealthSilent(t *testing.T) {
	t.Parallel()
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.HealthFault = errors.Join(probe.ErrUnreachable, errors.New("connection refused"))
	s.containers.ProbeFault = fault(v1alpha1.ReasonEndpointNotServing)
	s.containers.Fail(helperapi.VerbStatus, v1alpha1.ReasonEndpointNotServing)
	for i, want := range []string{isAnnotated, isAnnotated, "Loaded EndpointNotServing"} {
		s.nextCheck(o)
		if got := phaseOf(s.attachment(s.pod)); got != want {
			t.Errorf("phase of %s after %d failed checks: got %q, want %q", s.pod.Name, i+1, got, want)
		}
	}
	s.containers.Mend()
	o.outlastFor(20)
	s.isAnnotated("9400")
	if j := s.jvm(s.pod); len(j.Asked) != 1 {
		t.Error("the agent was reconfigured")
	}
}
