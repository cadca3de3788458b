package steps

import (
	"slices"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Health is the result of an endpoint's health check and the examination after it.
type Health struct {
	Finding Finding
	// Foreign reports whether another process answers at the endpoint.
	Foreign bool
	// Misses is the number of consecutive health checks without an answer.
	Misses int32
	// Served is how long the endpoint was seen to answer before.
	Served time.Duration
}

// silentMisses is the number of consecutive misses after which a JVM with a silent
// endpoint regresses.
const silentMisses = 3

// Causes lists why records go back, in the order of the phases.
var Causes = []statemachine.Cause{
	{Reason: v1alpha1.ReasonReplaced, Back: Replaced, Message: "The container or JVM was replaced; rediscovering."},
	{Reason: v1alpha1.ReasonConfigChanged, Back: ConfigChanged, Message: "The agent's files changed; staging them again."},
	{Reason: v1alpha1.ReasonAgentChanged, Back: AgentChanged, Message: "The agent is out of date; reconfiguring."},
	{Reason: v1alpha1.ReasonAgentGone, Back: AgentChanged, Message: "The agent was loaded but is no longer present; loading it again."},
	{Reason: v1alpha1.ReasonEndpointForeign, Back: AgentChanged, Message: "The agent serves, but a foreign process answers at its endpoint; reconfiguring the agent."},
	{Reason: v1alpha1.ReasonEndpointSilent, Back: EndpointLost, Message: "The endpoint stopped answering; probing it again."},
	{Reason: v1alpha1.ReasonEndpointMoved, Back: EndpointLost, Message: "The endpoint's address changed; probing it there."},
	{Reason: v1alpha1.ReasonEndpointLost, Back: EndpointLost, Message: "The endpoint is missing from the EndpointSlices; publishing it again."},
	{Reason: v1alpha1.ReasonAnnotationLost, Back: AnnotationLost, Message: "The operator's annotations are no longer on the pod; restoring them."},
}

func because(reason string) *statemachine.Cause {
	i := slices.IndexFunc(Causes, func(c statemachine.Cause) bool { return c.Reason == reason })
	return new(Causes[i])
}

// Regress returns why the pod's own phases no longer hold, based on the record and the
// observations; nil if they do. It changes nothing.
func (s *Scope) Regress() *statemachine.Cause {
	if len(s.Status().Containers) == 0 || len(s.attachable()) == 0 {
		return because(v1alpha1.ReasonReplaced)
	}
	if len(foreignAnnotations(s.Pod)) > 0 || !annotated(s) {
		return because(v1alpha1.ReasonAnnotationLost)
	}
	return nil
}

// Regress returns why the JVM's phase no longer holds, based on the record and the
// observations; nil if it does. It changes nothing.
func (j *JVM) Regress() *statemachine.Cause {
	p, health := j.Process, j.Health[Identity(j.Process)]
	switch {
	case p.Adopted:
	case !j.UpToDate(Staged):
		return because(v1alpha1.ReasonConfigChanged)
	case health.Finding == FindingStopped:
		return because(v1alpha1.ReasonAgentGone)
	case health.Finding == FindingServing && health.Foreign:
		return because(v1alpha1.ReasonEndpointForeign)
	case !j.serves():
		return because(v1alpha1.ReasonAgentChanged)
	}
	switch {
	case p.Endpoint != nil && (p.Endpoint.Silent || health.Silent()):
		return because(v1alpha1.ReasonEndpointSilent)
	case !j.answered():
		return because(v1alpha1.ReasonEndpointMoved)
	case !j.published():
		return because(v1alpha1.ReasonEndpointLost)
	}
	return nil
}

// Silent reports whether an endpoint has been silent for long enough to regress.
func (h Health) Silent() bool { return h.Finding == FindingSilent && h.Misses >= silentMisses }

// Forget removes from the record of a JVM what a cause has proven wrong.
func (j *JVM) Forget(cause *statemachine.Cause) {
	switch p := j.Process; cause.Reason {
	case v1alpha1.ReasonAgentGone, v1alpha1.ReasonEndpointForeign:
		p.ConfigSHA256, p.ImplementationSHA256, p.SecuritySHA256, p.CertificateSHA256 = "", "", "", ""
	case v1alpha1.ReasonEndpointSilent:
		p.Endpoint.Silent = true
	}
}
