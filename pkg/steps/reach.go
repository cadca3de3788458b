package steps

import (
	"cmp"
	"context"
	"slices"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/transport"
)

// inspect executes an inspection of a container, and returns the container as it was reached.
// If its transport cannot reach it, the next one is taken, unless that changes the pod: see
// takesDoor.
func (t Tools) inspect(ctx context.Context, s *Situation, at transport.Container, request helperapi.Request) (*helperapi.Report, transport.Container, error) {
	var report *helperapi.Report
	at, err := s.reach(at, false, func(at transport.Container) (err error) {
		report, err = t.Helper.Run(ctx, at, helperapi.VerbInspect, request)
		return err
	})
	return report, at, err
}

// run executes an operation in a container with a JVM, by the first transport that reaches it.
func (t Tools) run(ctx context.Context, s *Situation, at transport.Container, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
	return t.runBy(ctx, s, at, true, verb, request, blobs...)
}

// runBy is run where the pod may be changed for it, or not.
func (t Tools) runBy(ctx context.Context, s *Situation, at transport.Container, mayChangePod bool, verb helperapi.Verb, request helperapi.Request, blobs ...transport.Blob) (*helperapi.Report, error) {
	var report *helperapi.Report
	_, err := s.reach(at, mayChangePod, func(at transport.Container) (err error) {
		report, err = t.Helper.Run(ctx, at, verb, request, blobs...)
		return err
	})
	return report, err
}

// open verifies that there is capacity for an operation in a container with a JVM, and that it
// answers by some transport, which the operation then takes.
func (t Tools) open(ctx context.Context, s *Situation, at transport.Container) error {
	_, err := s.reach(at, true, func(at transport.Container) error { return t.Helper.Open(ctx, at) })
	return err
}

// reach does something in a container, by the next transport each time one cannot reach it, and
// records which one did. It returns the container as it was reached last.
func (s *Situation) reach(at transport.Container, mayChangePod bool, do func(transport.Container) error) (transport.Container, error) {
	var gaveUp *nodeFailure
	for {
		err := do(at)
		if err == nil {
			s.noteWay(at)
			s.noteExec(at)
			return at, nil
		}
		if s.givesUpNode(at, err) {
			gaveUp = &nodeFailure{at, err, *s.InspectedOrNew(pod.Container{Name: at.Name, ID: at.ID})}
		}
		next := s.nextWay(at, err, mayChangePod)
		switch {
		case next == "" && gaveUp != nil && ExecCannot(reasonOf(err)):
			return s.retryNode(gaveUp)
		case next == "":
			return at, err
		}
		at.Transport = next
	}
}

// nextWay returns the transport to take after one that failed, and records it; empty for none.
// One that changes the pod is taken only for a container that may have an agent already, to which
// this one has not led; and not while a node agent of another release is about to be replaced,
// unless the pod is being detached.
func (s *Situation) nextWay(at transport.Container, err error, mayChangePod bool) v1alpha1.Transport {
	taken, reason := cmp.Or(at.Transport, v1alpha1.TransportExec), reasonOf(err)
	i := slices.IndexFunc(ways, func(w way) bool { return w.transport == taken })
	if s.transport() != v1alpha1.TransportAuto || i < 0 || i+1 == len(ways) || at.ID == "" || !ways[i].cannot(reason) && !s.givesUpNode(at, err) {
		return ""
	}
	next := ways[i+1]
	entry := s.InspectedOrNew(pod.Container{Name: at.Name, ID: at.ID})
	led := entry.ReachedByExec || entry.TransportReason == "" && (entry.Transport == "" || entry.Transport == taken)
	if next.changesPod && (!mayChangePod || led || !s.hasAgent(at.ID) || s.preflighting() || s.awaitsRelease(entry)) {
		return ""
	}
	s.takeNext(entry, next.transport, reason)
	return next.transport
}

// preflighting reports whether the exporter is in mode Preflight, which changes no pod.
func (s *Situation) preflighting() bool {
	return s.Exporter != nil && s.Exporter.Spec.Mode == v1alpha1.ModePreflight
}

// awaitsRelease reports whether the container of an attached pod was reached without the node
// agent only because that is not of the operator's release yet: what serves can wait for it.
func (s *Situation) awaitsRelease(entry *v1alpha1.InspectedContainer) bool {
	return s.Exporter != nil && s.failedBefore(entry) && entry.TransportReason == v1alpha1.ReasonNodeAgentPending
}

// takeNext records the transport that takes the place of one that failed for the reason. That the
// node agent refused the container, or was given up, is remembered whatever follows, until there
// is another agent.
func (s *Situation) takeNext(entry *v1alpha1.InspectedContainer, next v1alpha1.Transport, reason string) {
	ofNode := next == v1alpha1.TransportExec // it takes the place of the node agent alone
	if ofNode {
		entry.ReachedByExec = entry.ReachedByExec || s.execLed(entry) && !ExecCannot(entry.Reason)
		if s.withoutNode == nil {
			s.withoutNode = map[string]bool{}
		}
		s.withoutNode[entry.Name] = true
	}
	if ofNode || !s.refusedBefore(entry) && !s.failedBefore(entry) {
		entry.TransportReason, entry.NodeAgentUID = reason, ""
	}
	if ofNode && (reason == v1alpha1.ReasonNodeAgentRefused || nodeFails(reason)) {
		entry.NodeAgentUID = s.NodeAgent.UID
	}
	entry.Transport = next
}

// noteWay records the transport by which a container was reached, if it is another one than
// before.
func (s *Situation) noteWay(at transport.Container) {
	entry := s.Inspected(at.Name)
	if entry == nil || entry.ContainerID != at.ID || at.Transport == "" || entry.Transport == at.Transport {
		return
	}
	entry.ReachedByExec = entry.ReachedByExec || s.execLed(entry) && !ExecCannot(entry.Reason)
	why := ""
	if entry.Transport == v1alpha1.TransportNode && s.transport() == v1alpha1.TransportAuto { // its agent went
		why = v1alpha1.ReasonNodeAgentMissing
	}
	entry.Transport, entry.TransportReason, entry.NodeAgentUID = at.Transport, why, ""
}

// noteExec records that exec has reached a container with an agent in place of the node agent. Of
// exec as the first choice, noteWay records it when another transport takes its place: until then,
// the record needs no field for it.
func (s *Situation) noteExec(at transport.Container) {
	entry := s.Inspected(at.Name)
	if entry != nil && entry.ContainerID == at.ID && isExec(at.Transport) && entry.TransportReason != "" && s.hasAgent(at.ID) {
		entry.ReachedByExec = true
	}
}

// execLed reports whether exec, as the first choice, has led to an agent in this instance of a
// container, unless it was found to fail since.
func (s *Situation) execLed(entry *v1alpha1.InspectedContainer) bool {
	return isExec(entry.Transport) && entry.TransportReason == "" && s.hasAgent(entry.ContainerID)
}

// isExec reports whether a transport is exec, which is the one of an empty record, too.
func isExec(transport v1alpha1.Transport) bool {
	return cmp.Or(transport, v1alpha1.TransportExec) == v1alpha1.TransportExec
}

// hasAgent reports whether a container may have an agent of the operator, or files of one.
func (s *Situation) hasAgent(containerID string) bool {
	return s.Find(func(p *v1alpha1.JavaProcess) bool {
		return p.ContainerID == containerID && (record.MayHaveAgent(p) || p.Staged != nil)
	}) != nil
}

// CheckedFrom returns from where the helper checks an endpoint in a container.
func (s *Situation) CheckedFrom(container string) v1alpha1.CheckedFrom {
	if s.wayTo(s.Inspected(container)) == v1alpha1.TransportNode {
		return v1alpha1.CheckedFromNode
	}
	return v1alpha1.CheckedFromPod
}
