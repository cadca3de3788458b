package steps

import (
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// Health is what a health check of an endpoint and the examination after it came to.
type Health struct {
	Finding Finding
	// Foreign reports that another process answers at the endpoint.
	Foreign bool
	// Misses is how often in a row the endpoint did not answer.
	Misses int32
	// Served is for how long the endpoint was seen to answer before.
	Served time.Duration
}

// silentMisses is how often in a row an endpoint is silent before that takes its
// JVM back.
const silentMisses = 3

var causes = map[string]statemachine.Cause{
	v1alpha1.ReasonReplaced:        {Back: Replaced, Message: "The container or JVM was replaced; rediscovering."},
	v1alpha1.ReasonConfigChanged:   {Back: ConfigChanged, Message: "The files that the agent runs from changed; staging them."},
	v1alpha1.ReasonAgentChanged:    {Back: AgentChanged, Message: "The agent is out of date; reconfiguring."},
	v1alpha1.ReasonAgentGone:       {Back: AgentChanged, Message: "The agent was loaded but is no longer present; loading it again."},
	v1alpha1.ReasonEndpointForeign: {Back: AgentChanged, Message: "The agent serves, but a foreign process answers at its endpoint; reconfiguring the agent."},
	v1alpha1.ReasonEndpointSilent:  {Back: EndpointLost, Message: "The endpoint stopped answering; probing it again."},
	v1alpha1.ReasonEndpointMoved:   {Back: EndpointLost, Message: "The endpoint's address changed; probing it there."},
	v1alpha1.ReasonEndpointLost:    {Back: EndpointLost, Message: "The endpoint is missing in the EndpointSlices; publishing it again."},
	v1alpha1.ReasonAnnotationLost:  {Back: AnnotationLost, Message: "The operator's annotations are no longer on the pod; restoring them."},
}

// Causes are why records go back, by their reasons, in the order of the phases.
func Causes() []statemachine.Cause {
	var all []statemachine.Cause
	for _, reason := range []string{
		v1alpha1.ReasonReplaced, v1alpha1.ReasonConfigChanged, v1alpha1.ReasonAgentChanged,
		v1alpha1.ReasonAgentGone, v1alpha1.ReasonEndpointForeign,
		v1alpha1.ReasonEndpointSilent, v1alpha1.ReasonEndpointMoved, v1alpha1.ReasonEndpointLost, v1alpha1.ReasonAnnotationLost,
	} {
		all = append(all, *because(reason))
	}
	return all
}

func because(reason string) *statemachine.Cause {
	cause := causes[reason]
	cause.Reason = reason
	return &cause
}

// Regress decides why the pod's own phases no longer hold, by the record and by
// what was observed; nil when they do. It changes nothing.
func (s *Scope) Regress() *statemachine.Cause {
	if len(s.Status().Containers) == 0 || len(s.attachable()) == 0 {
		return because(v1alpha1.ReasonReplaced)
	}
	if len(foreignAnnotations(s.Pod)) > 0 || !annotated(s) {
		return because(v1alpha1.ReasonAnnotationLost)
	}
	return nil
}

// Regress decides why what the record says of the JVM no longer holds, by it and by
// what was observed; nil when it does. It changes nothing.
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

// Silent reports whether an endpoint was silent for long enough to be called so.
func (h Health) Silent() bool { return h.Finding == FindingSilent && h.Misses >= silentMisses }

// Forget drops from the record of a JVM what a cause has proven wrong.
func (j *JVM) Forget(cause *statemachine.Cause) {
	switch p := j.Process; cause.Reason {
	case v1alpha1.ReasonAgentGone, v1alpha1.ReasonEndpointForeign:
		p.ConfigSHA256, p.ImplementationSHA256, p.SecuritySHA256, p.CertificateSHA256 = "", "", "", ""
	case v1alpha1.ReasonEndpointSilent:
		p.Endpoint.Silent = true
	}
}
