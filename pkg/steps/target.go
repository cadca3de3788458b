package steps

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// at returns a container of the pod as a target for the helper, with the transport to
// use.
func (s *Situation) at(name string) transport.Container {
	at, entry := Target(s.Pod, name), s.Inspected(name)
	if entry != nil {
		at.User = parseUser(entry.User)
	}
	at.Transport = s.wayTo(entry)
	if here := s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == at.ID }); len(here) > 0 {
		at.JVMUser = &transport.User{UID: here[0].UID, GID: here[0].GID} // the primary one comes first
	}
	at.Last, at.Origin = s.Exporter == nil, s.origin()
	at.Transient = s.Exporter == nil // the container may have been replaced, and nothing of this one would detach it again
	return at
}

// origin returns on whose behalf the pod is visited. Nothing can be loaded while nothing
// is granted to the pod and nothing is staged in it.
func (s *Situation) origin() transport.Origin {
	origin := transport.Origin{
		Namespace: s.Attachment.Namespace, Exporter: s.Attachment.Spec.Exporter.Name, Requester: RequesterName(s.Exporter), Purpose: transport.PurposeAttach,
	}
	staged := func(p *v1alpha1.JavaProcess) bool { return p.Staged != nil }
	switch {
	case s.Exporter == nil:
		origin.Purpose = transport.PurposeDetach
	case !s.granted() && s.Find(staged) == nil:
		origin.Purpose = transport.PurposeInspect
	}
	return origin
}

// RequesterName returns the user who last wrote the spec of an exporter, as stamped by
// an admission policy (config/stamp); empty if unknown or for no exporter.
func RequesterName(exporter *v1alpha1.PrometheusJmxExporter) string {
	if exporter == nil {
		return ""
	}
	return exporter.Annotations[v1alpha1.AnnotationRequester]
}

// transportForbidden returns an Outcome if the exporter asks for a transport that the
// operator may not use; nil otherwise.
func (s *Situation) transportForbidden() *statemachine.Outcome {
	way := s.transport()
	allowed := TransportOf("", s.Transport)
	if allowed == v1alpha1.TransportAuto || allowed == way {
		return nil
	}
	return new(record.NotDone(v1alpha1.ReasonTransportForbidden, transport.Forbidden(allowed, way)))
}

// withoutNext adds to the Outcome of an inspection what to do if a transport cannot reach
// the container: if the operator may only use exec, if the exporter asks only for exec, or
// what happens after mode Preflight; and that a node agent would reach it, unless one is or was
// ready on the node.
func (s *Situation) withoutNext(o statemachine.Outcome) statemachine.Outcome {
	way := s.transport()
	switch {
	case nodeHelps(o.Reason) && s.mayAdviseNode(way):
		o.Message += " A node agent (config/node, with spec.transport Auto or Node) needs neither an exec into the pod nor an ephemeral container."
	case !ExecCannot(o.Reason):
	case s.Transport == v1alpha1.TransportExec:
		o.Message += " The operator runs with --transport=Exec and adds no ephemeral containers: deploy config/default, which may add them, or exclude the pod with the exporter's selector."
	case way == v1alpha1.TransportExec:
		o.Message += " Set spec.transport to Auto to use an ephemeral container, which executes nothing in this one."
	case s.Exporter != nil && s.Exporter.Spec.Mode == v1alpha1.ModePreflight:
		o.Message += " Mode Attach uses an ephemeral container."
	}
	return o
}

// mayAdviseNode reports whether a node agent may serve a pod that was to be reached by a transport.
func (s *Situation) mayAdviseNode(way v1alpha1.Transport) bool {
	tried := way == v1alpha1.TransportNode || way == v1alpha1.TransportAuto && s.NodeAgent.UID != ""
	return !tried && TransportOf("", s.Transport) == v1alpha1.TransportAuto
}

// Target returns the named container of the pod as a target for the helper.
func Target(of *corev1.Pod, name string) transport.Container {
	target := transport.Container{
		Namespace: of.Namespace, Pod: of.Name, PodUID: pod.KubeletUID(of), Name: name, Node: of.Spec.NodeName,
		Space: pod.SpaceFor(of, name), Object: of,
	}
	for _, c := range pod.Running(of) {
		if c.Name == name {
			target.ID = c.ID
		}
	}
	return target
}

// withTmp adds to a request what the helper cannot see about the container's /tmp.
func (s *Situation) withTmp(container string, r helperapi.Request) helperapi.Request {
	r.TmpMountedElsewhere = pod.TmpMountedElsewhere(s.Pod, container)
	r.AllowSharedTmp = s.Exporter.Spec.AllowSharedTmp
	return r
}

// targetOf returns a process as the helper's target.
func targetOf(p *v1alpha1.JavaProcess) *helperapi.Target {
	return &helperapi.Target{PID: int(p.PID), StartTime: uint64(p.StartTime)}
}

func parseUser(text string) *transport.User {
	var u transport.User
	if n, err := fmt.Sscanf(text, "%d:%d", &u.UID, &u.GID); n != 2 || err != nil {
		return nil
	}
	return &u
}
