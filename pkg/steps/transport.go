package steps

import (
	"cmp"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// TransportOf is the way to the pods of an exporter that asks for one, by an operator
// that may use one or, Auto, both: Auto where each container decides.
func TransportOf(asked, allowed v1alpha1.Transport) v1alpha1.Transport {
	if asked == "" || asked == v1alpha1.TransportAuto {
		return cmp.Or(allowed, v1alpha1.TransportAuto)
	}
	return asked
}

// transport is the way to the pod. One that is detached is reached by whichever the
// operator may use.
func (s *Scope) transport() v1alpha1.Transport {
	if s.Exporter == nil {
		return TransportOf("", s.Transport)
	}
	return TransportOf(s.Exporter.Spec.Transport, s.Transport)
}

// at is a container of the pod, for the helper, by the way that leads to it: what
// exporter and operator say, else what its record does.
func (s *Scope) at(name string) transport.Container {
	at := Target(s.Pod, name)
	if entry := s.inspected(name); entry != nil {
		at.Transport, at.User = entry.Transport, parseUser(entry.User)
	}
	if here := s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == at.ID }); len(here) > 0 {
		at.JVMUser = &transport.User{UID: here[0].UID, GID: here[0].GID} // the primary one comes first
	}
	at.Last, at.Origin = s.Exporter == nil, s.origin()
	if way := s.transport(); way != v1alpha1.TransportAuto {
		at.Transport = way
	}
	return at
}

// origin is on whose behalf the pod is visited. While nothing is granted to it and
// nothing is staged in it, nothing can be loaded.
func (s *Scope) origin() transport.Origin {
	origin := transport.Origin{
		Namespace: s.Attachment.Namespace, Exporter: s.Attachment.Spec.Exporter.Name, Requester: RequesterName(s.Exporter), Purpose: transport.PurposeAttach,
	}
	staged := func(p *v1alpha1.JavaProcess) bool { return p.Staged != nil }
	switch {
	case s.Exporter == nil:
		origin.Purpose = transport.PurposeDetach
	case !s.Granted && len(s.Filter(staged)) == 0:
		origin.Purpose = transport.PurposeInspect
	}
	return origin
}

// RequesterName is the user who wrote the spec of an exporter last, as far as an admission policy
// stamped it (config/stamp); empty if that is unknown, as of no exporter.
func RequesterName(exporter *v1alpha1.PrometheusJmxExporter) string {
	if exporter == nil {
		return ""
	}
	return exporter.Annotations[v1alpha1.AnnotationRequester]
}

// transportForbidden is that the exporter asks for a way that the operator may not use;
// nil if it may.
func (s *Scope) transportForbidden() *statemachine.Outcome {
	way := s.transport()
	if allowed := TransportOf("", s.Transport); allowed == v1alpha1.TransportAuto || allowed == way {
		return nil
	}
	return new(NotDone(v1alpha1.ReasonTransportForbidden, transport.Forbidden(way)))
}

// withoutDoor is the outcome of an inspection, with what to do where exec cannot: the
// operator may use nothing else, or the exporter asks for nothing else; or with what
// follows, in mode Preflight.
func (s *Scope) withoutDoor(o statemachine.Outcome) statemachine.Outcome {
	switch {
	case !ExecCannot(o.Reason):
	case s.Transport == v1alpha1.TransportExec:
		o.Message += " The operator runs with --transport=Exec and adds no ephemeral container: deploy it with both transports (config/default), or exclude the pod by spec.labelSelector."
	case s.transport() == v1alpha1.TransportExec:
		o.Message += " Set spec.transport to Auto: an ephemeral container executes nothing in this one."
	case s.Exporter != nil && s.Exporter.Spec.Mode == v1alpha1.ModePreflight:
		o.Message += " In mode Attach, it is reached through an ephemeral container."
	}
	return o
}
