package steps

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Cause is why a record goes back, and what that says about a JVM.
type Cause struct {
	statemachine.Cause
	// disproves removes from a process's entry what the cause has proven wrong, in any
	// phase, because it is observed only once; nil for nothing.
	disproves func(*v1alpha1.JavaProcess)
	// Update reports whether the JVM lost nothing, but something else is wanted in it.
	Update bool
	// loss reports whether an agent was lost. Loading it again is delayed if it is lost
	// repeatedly: each time is a load into a JVM whose owner may not want it.
	loss bool
}

// Causes are all causes, in the order in which they are looked for: a record goes back
// for the first one that applies.
func Causes() []Cause {
	all := []Cause{replaced}
	for _, c := range jvmCauses {
		all = append(all, c.Cause)
	}
	return append(all, annotationLost)
}

var (
	replaced = Cause{Cause: statemachine.Cause{
		Reason: v1alpha1.ReasonReplaced, Back: Replaced, Message: "The container or JVM was replaced; rediscovering."}}
	annotationLost = Cause{Cause: statemachine.Cause{
		Reason: v1alpha1.ReasonAnnotationLost, Back: AnnotationLost, Message: "The operator's annotations are no longer on the pod; restoring them."}}
)

// jvmCauses are the causes for which a JVM goes back, in the order in which they are
// looked for, and when each applies.
var jvmCauses = []struct {
	Cause
	applies func(*JVM) bool
}{
	{Cause{Cause: statemachine.Cause{Reason: v1alpha1.ReasonConfigChanged, Back: ConfigChanged, Message: "The agent's files changed; staging them again."}, Update: true},
		func(j *JVM) bool { return !j.Process.Adopted && !j.upToDate(Staged) }},
	{Cause{Cause: statemachine.Cause{Reason: v1alpha1.ReasonAgentGone, Back: AgentChanged, Message: "The agent was loaded but is no longer present; loading it again."}, disproves: served, loss: true},
		func(j *JVM) bool { return !j.Process.Adopted && j.health().Finding == FindingStopped }},
	{Cause{Cause: statemachine.Cause{Reason: v1alpha1.ReasonEndpointForeign, Back: AgentChanged, Message: "The agent serves, but a foreign process answers at its endpoint; reconfiguring the agent."}, disproves: served, loss: true},
		func(j *JVM) bool {
			return !j.Process.Adopted && j.health().Finding == FindingServing && j.health().Foreign
		}},
	{Cause{Cause: statemachine.Cause{Reason: v1alpha1.ReasonAgentChanged, Back: AgentChanged, Message: "The agent is out of date; reconfiguring."}, Update: true},
		func(j *JVM) bool { return !j.Process.Adopted && !j.serves() }},
	{Cause{Cause: statemachine.Cause{Reason: v1alpha1.ReasonEndpointSilent, Back: EndpointLost, Message: "The endpoint stopped answering; probing it again."}, disproves: answers},
		func(j *JVM) bool {
			return j.Process.Endpoint != nil && (j.Process.Endpoint.Silent || j.health().silent())
		}},
	{Cause{Cause: statemachine.Cause{Reason: v1alpha1.ReasonEndpointMoved, Back: EndpointLost, Message: "The endpoint's address changed; probing it there."}},
		func(j *JVM) bool { return !j.answered() }},
	{Cause{Cause: statemachine.Cause{Reason: v1alpha1.ReasonEndpointLost, Back: EndpointLost, Message: "The endpoint is missing from the EndpointSlices; publishing it again."}},
		func(j *JVM) bool { return !j.published() }},
}

// PhaseAfter returns the phase of a record in a phase after it goes back for a cause: the
// same, if it has not come that far.
func PhaseAfter(cause statemachine.Cause, at statemachine.Phase) statemachine.Phase {
	state := statemachine.State{Phase: at}
	if _, err := Plan.Regress(&state, cause); err != nil { // no cause and no phase of this package
		return at
	}
	return state.Phase
}

func served(p *v1alpha1.JavaProcess) {
	p.ConfigSHA256, p.ImplementationSHA256, p.SecuritySHA256, p.CertificateSHA256 = "", "", "", ""
}

func answers(p *v1alpha1.JavaProcess) { p.Endpoint.Silent = true }

// cause returns why the JVM's phase no longer holds, based on the record and the
// observations; nil if it does. It changes nothing.
func (j *JVM) cause() *Cause {
	for i := range jvmCauses {
		if c := &jvmCauses[i]; c.applies(j) {
			return &c.Cause
		}
	}
	return nil
}

// cause returns why the pod's own phases no longer hold, based on the record and the
// observations; nil if they do. It changes nothing.
func (s *Situation) cause() *Cause {
	switch {
	case len(s.Status().Containers) == 0 || len(s.Attachable()) == 0:
		return &replaced
	case len(pod.ForeignScrape(s.Pod)) > 0 || !annotated(s):
		return &annotationLost
	}
	return nil
}

func (j *JVM) health() Health { return j.EndpointHealth[record.Identity(j.Process)] }

// lossWindow is how long a lost agent must be seen serving before the next loss counts
// as the first one again: longer than the maximum backoff of its load.
const lossWindow = 2 * statemachine.MaxBackoff

// lose counts the loss of an agent, and delays its next load if it is not the first.
func (j *JVM) lose(state *statemachine.State) {
	losses := &v1alpha1.Losses{Count: 1, LastTime: j.Now}
	if before := j.Process.Losses; before != nil && j.health().Served < lossWindow {
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
