package integration

import (
	"errors"
	"testing"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/steps"
)

// The agent in a JVM was stopped by somebody: it is told to serve again, and its
// files are brought anew if they went with it, as jmx-attach unload has them go.
func TestListenStopped(t *testing.T) {
	for name, tc := range map[string]struct {
		without bool
		want    string
	}{
		"the files stay": {false, "status load"},
		"they are gone":  {true, "status load inspect stage load"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := checked(t, aPod("app-0"), nil)
			s.later(time.Hour)
			s.jvm(s.pod).Mark = &helperapi.Mark{Protocol: 1, State: helperapi.AgentStopped}
			if tc.without {
				clear(s.container(s.pod).files)
			}
			s.containers.health = errors.Join(steps.ErrUnreachable, errors.New("connection refused"))
			s.staySilent(o)
			s.containers.mend()
			o.outlastFor(12)
			s.isAnnotated("9400")
			if got := s.verbs(); got != tc.want || !s.jvm(s.pod).running() {
				t.Errorf("run was %q", got)
			}
		})
	}
}

// The agent serves, but the operator is kept from the pod: that is written down
// once, and the pod is asked every ten minutes without another exec, until it
// answers again.
func TestHealthCutOff(t *testing.T) {
	for name, err := range map[string]error{
		"by a NetworkPolicy": errors.Join(steps.ErrUnreachable, errors.New("no route")),
		"by a mesh":          errors.New("malformed HTTP response"),
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
	s.containers.health = err
	from := func() v1alpha1.CheckedFrom { return s.attachment(s.pod).Status.Processes[0].Endpoint.CheckedFrom }
	s.staySilent(o)
	if got := s.verbs(); got != "status" || from() != v1alpha1.CheckedFromPod {
		t.Errorf("run was %q, and it is checked from %s", got, from())
	}
	for i := range 4 {
		did, after := s.nextCheck(o)
		if i == 0 { // the pause from before it was written down
			continue
		}
		if len(did) != 1 || did[0] != "http health" || after < 10*time.Minute || after > 12*time.Minute {
			t.Errorf("it did %q, and it is asked again after %s", did, after)
		}
	}
	if got := s.verbs(); got != "" {
		t.Errorf("helper operations: got %q, want %q", got, "")
	}
	s.isAnnotated("9400")
	s.containers.mend()
	s.nextCheck(o)
	if from() != v1alpha1.CheckedFromOperator {
		t.Errorf("it is checked from %s", from())
	}
	o.outlastFor(3)
	s.isAnnotated("9400")
}

// The endpoint is dead in a JVM that lives: after the third time the record says
// so, and it is asked again until it answers.
func TestHealthSilent(t *testing.T) {
	s, o := checked(t, aPod("app-0"), nil)
	s.later(time.Hour)
	s.containers.health = errors.Join(steps.ErrUnreachable, errors.New("connection refused"))
	s.containers.probe = fault(v1alpha1.ReasonEndpointNotServing)
	s.containers.fail(helperapi.VerbStatus, v1alpha1.ReasonEndpointNotServing)
	for i, want := range []string{isAnnotated, isAnnotated, "Loaded EndpointNotServing"} {
		s.nextCheck(o)
		if got := phaseOf(s.attachment(s.pod)); got != want {
			t.Errorf("after it was silent %d times, it is %s", i+1, got)
		}
	}
	s.containers.mend()
	o.outlastFor(20)
	s.isAnnotated("9400")
	if j := s.jvm(s.pod); len(j.asked) != 1 {
		t.Error("the JVM was touched")
	}
}
