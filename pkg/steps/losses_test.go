package steps

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Losses count up until the agent served for long enough between two of them, however
// rarely it is checked.
func TestLose(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		ago    time.Duration // the last loss; 0 for none
		served time.Duration
		want   int32
	}{
		"the first loss counts 1":                        {v1alpha1.ReasonAgentGone, 0, 0, 1},
		"the agent is lost again soon":                   {v1alpha1.ReasonAgentGone, time.Minute, 30 * time.Second, 4},
		"the agent served for long":                      {v1alpha1.ReasonAgentGone, time.Hour, lossWindow, 1},
		"the agent did not serve, and is checked rarely": {v1alpha1.ReasonAgentGone, time.Hour, 0, 4},
		"the agent was not seen serving for a day":       {v1alpha1.ReasonAgentGone, 24 * time.Hour, lossWindow - time.Second, 4},
		"a foreign process answers":                      {v1alpha1.ReasonEndpointForeign, time.Minute, 0, 4},
		"the agent is not lost":                          {v1alpha1.ReasonAgentChanged, time.Minute, 0, 3},
	} {
		s := aSituation(serving("app", 9400))
		j := s.jvm()
		if tc.ago > 0 {
			j.Process.Losses = &v1alpha1.Losses{Count: 3, LastTime: metav1.NewTime(s.Now.Add(-tc.ago))}
		}
		s.EndpointHealth = map[record.ProcessIdentity]Health{record.Identity(j.Process): {Finding: FindingStopped, Served: tc.served}}
		state := statemachine.State{Phase: Staged}
		if because(tc.reason).loss {
			j.lose(&state)
		}
		if got := j.Process.Losses.Count; got != tc.want {
			t.Errorf("%s: losses: got %d, want %d", name, got, tc.want)
		}
		if delayed := state.Attempt != nil; delayed != (tc.want == 4) {
			t.Errorf("%s: next load delayed: got %t, want %t", name, delayed, tc.want == 4)
		}
	}
}
