package steps

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// lossWindow is for how long an agent that was lost is to be seen serving for the next
// loss to be counted as the first: longer than the longest time until it is loaded again.
const lossWindow = 2 * statemachine.MaxBackoff

// Lose has an agent that is lost repeatedly loaded again less and less often: each time
// is a load into a JVM of somebody who may not want it.
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
