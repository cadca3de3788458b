package steps

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// lossWindow is how long a lost agent must be seen serving before the next loss counts
// as the first one again: longer than the maximum backoff of its load.
const lossWindow = 2 * statemachine.MaxBackoff

// Lose applies backoff to loading an agent that is lost repeatedly: each time is a load
// into a JVM whose owner may not want it.
func (j *JVM) Lose(cause *statemachine.Cause, state *statemachine.State) {
	if cause.Reason != v1alpha1.ReasonAgentGone && cause.Reason != v1alpha1.ReasonEndpointForeign {
		return
	}
	losses := &v1alpha1.Losses{Count: 1, LastTime: j.Now}
	if before := j.Process.Losses; before != nil && j.Health[Identity(j.Process)].Served < lossWindow {
		losses.Count += before.Count
	}
	j.Process.Losses = losses
	if losses.Count == 1 {
		return
	}
	next, _ := Plan.Next(state.Phase)
	at := j.Now.Add(statemachine.Backoff(losses.Count)).Truncate(time.Second)
	state.Attempt = &statemachine.Attempt{Key: j.Key(), Phase: next, Count: losses.Count - 1, NextTime: new(metav1.NewTime(at))}
}
