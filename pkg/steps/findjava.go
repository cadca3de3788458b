package steps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// FindJava inspects the running containers and identifies the Java processes to attach
// to.
type FindJava struct{ Tools }

// Phase implements statemachine.Step.
func (FindJava) Phase() statemachine.Phase { return JavaFound }

// OnlyObserves implements statemachine.Observer: an inspection looks for the helper that
// an earlier one installed in the container.
func (FindJava) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (f FindJava) Ensure(ctx context.Context, s *Situation) statemachine.Outcome {
	if pod.RunsWindows(s.Pod) {
		return record.NotDone(v1alpha1.ReasonUnsupportedOS,
			"The pod runs on Windows (spec.os or the node selector kubernetes.io/os); only Linux containers can be attached to. Exclude it with the exporter's selector, or with the annotation "+v1alpha1.AnnotationOptOut+": \"true\".")
	}
	if refused := s.podProtected(); refused != nil {
		return *refused
	}
	if forbidden := s.transportForbidden(); forbidden != nil {
		return *forbidden
	}
	containers := s.containers()
	s.exclude(containers)
	if len(containers) == 0 {
		return record.NotDone(v1alpha1.ReasonContainerNotRunning, notRunning(s))
	}
	if s.lost() { // and is not found again before each of these was inspected
		for _, c := range containers {
			s.Expect(c)
		}
	}
	unsaved := false
	for _, c := range s.fewestTriesFirst(containers) {
		if !s.due(c) {
			continue
		}
		if unsaved { // it may have hung, and the next one may use up the time
			if err := f.Persist(ctx); err != nil {
				return failed(err)
			}
		}
		outcome := f.inspect(ctx, s, c)
		if outcome.Kind == statemachine.Queued {
			return outcome
		}
		unsaved = outcome.Kind == statemachine.Failed
	}
	if outcome := f.inspectByOtherTransport(ctx, s, containers); outcome.Kind == statemachine.Queued {
		return outcome
	}
	s.retryAfter = cmp.Or(s.retryAfter, s.awaitedFor())
	s.choosePrimary()
	recognize(s)
	return s.withoutJava(s.Found(s.retryAfter))
}

// withoutJava returns the outcome of an inspection: where a pod has run for long without a
// JVM, only an event leads to another one.
func (s *Situation) withoutJava(outcome statemachine.Outcome) statemachine.Outcome {
	if outcome.Reason == v1alpha1.ReasonNoJavaProcess && s.allSettled() {
		outcome.Kind, outcome.RetryAfter = statemachine.Broken, s.inspectAfter()
		outcome.Message += " The pod is inspected again when it becomes ready or a container restarts; to have it inspected now, delete this JmxAttachment."
	}
	return outcome
}

// Undo implements statemachine.Step. The containers are inspected again if the pod comes
// back.
func (FindJava) Undo(_ context.Context, s *Situation) statemachine.Outcome {
	s.Status().Containers = nil
	return record.Done()
}

// fewestTriesFirst returns the containers in the order of inspection: containers that
// hang come last.
func (s *Situation) fewestTriesFirst(containers []pod.Container) []pod.Container {
	tries := func(c pod.Container) int32 {
		if entry := s.Current(c); entry != nil {
			return entry.Attempt.Tries()
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(containers), func(a, b pod.Container) int { return cmp.Compare(tries(a), tries(b)) })
}

// inspect inspects one container and merges the result into the record, unless there was
// no capacity for it.
func (f FindJava) inspect(ctx context.Context, s *Situation, c pod.Container) statemachine.Outcome {
	if closed := s.notInspected(c); closed != nil {
		s.retryAfter = max(s.retryAfter, closed.RetryAfter)
		unseen := closed.Reason == v1alpha1.ReasonPodProtected && s.mayHaveBeenSeen(c)
		entry := s.InspectedOrNew(c)
		if unseen { // it may have been attached to when the flags allowed it
			entry.UnseenPorts = s.publishedPorts()
		}
		s.recordContainer(entry, *closed)
		return *closed
	}
	at := s.at(c.Name)
	if closed := s.doorClosed(at); closed != nil {
		entry := s.InspectedOrNew(c)
		entry.Transport = at.Transport
		s.recordContainer(entry, *closed)
		return *closed
	}
	request := helperapi.Request{Files: s.aboutToStage(c)}
	if !s.keepsAll() {
		request.Rules = processRules(s.Exporter)
	}
	at.Transient = s.transient(c.Name)
	report, at, err := f.Tools.inspect(ctx, s, at, s.withTmp(c.Name, request))
	outcome := record.Done()
	if err != nil {
		outcome = s.awaiting(s.withoutNext(failed(err)))
	}
	if outcome.Kind == statemachine.Queued {
		return outcome
	}
	entry := s.InspectedOrNew(c)
	s.noteWay(at)
	if outcome.Kind != statemachine.Done {
		s.recordContainer(entry, outcome)
		return outcome
	}
	entry.HelperRemoved = at.Transient
	if entry.Transport == v1alpha1.TransportNode { // what failed before does not matter any more
		entry.TransportReason, entry.NodeAgentUID = "", ""
	}
	switch {
	case s.chooses():
		entry.Rules = rules(s.Exporter)
	case s.keepsAll():
		entry.Rules = ""
	}
	if s.noteUser(at, entry, report.Processes) {
		return f.inspect(ctx, s, c)
	}
	if len(request.Files) > 0 {
		s.foundFiles(c.Name, report.Files)
	}
	s.merge(c, report.Processes)
	s.recordContainer(entry, outcome)
	return outcome
}

// inspectByOtherTransport inspects the containers that exec cannot reach by another transport, if
// the exporter leaves the choice to the operator: by the node agent that is awaited, or
// through ephemeral containers. An ephemeral container stays in the pod's spec, so none is
// added next to a container that may not matter: not if another container runs a Java
// process, or may be about to start one.
func (f FindJava) inspectByOtherTransport(ctx context.Context, s *Situation, containers []pod.Container) statemachine.Outcome {
	for _, c := range containers {
		for _, next := range []struct {
			transport v1alpha1.Transport
			takes     func(pod.Container, *v1alpha1.InspectedContainer) bool
		}{{v1alpha1.TransportNode, s.takesNodeAgent}, {v1alpha1.TransportEphemeralContainer, s.takesDoor}} {
			entry := s.Current(c)
			if entry == nil || !next.takes(c, entry) {
				continue
			}
			s.takeNext(entry, next.transport, entry.Reason)
			entry.Reason, entry.Message, entry.Attempt = "", "", nil
			if outcome := f.inspect(ctx, s, c); outcome.Kind == statemachine.Queued {
				return outcome
			}
		}
	}
	return record.Done()
}

// transient reports whether an inspection must leave nothing in a container: nothing may
// be attached, and nothing is.
func (s *Situation) transient(name string) bool {
	return s.Exporter.Spec.Mode == v1alpha1.ModePreflight && s.Find(func(p *v1alpha1.JavaProcess) bool {
		return p.Container == name && (record.MayHaveAgent(p) || p.Staged != nil)
	}) == nil
}

// exclude excludes the processes of containers that are no longer selected.
func (s *Situation) exclude(containers []pod.Container) {
	if !s.chooses() || len(pod.Running(s.Pod)) == 0 { // all stays as it is
		return
	}
	chosen := func(name string) bool {
		return slices.ContainsFunc(containers, func(c pod.Container) bool { return c.Name == name })
	}
	for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return !chosen(p.Container) && record.Runs(s.Pod, p) }) {
		p.Excluded, p.Primary = true, false
	}
	s.Status().Containers = slices.DeleteFunc(s.Status().Containers, func(c v1alpha1.InspectedContainer) bool {
		return !chosen(c.Name) && !s.leads(c) && !s.holdsUnseen(c)
	})
}

// recognize takes over published endpoints: they answered when the record that was lost
// still existed. Those of known processes are in no other container.
func recognize(s *Situation) {
	for _, p := range s.Chosen() {
		for _, published := range s.Published {
			if p.Endpoint == nil && published.Address == s.Pod.Status.PodIP && published.Port == p.Port {
				p.Endpoint = &v1alpha1.Endpoint{Address: published.Address, Port: published.Port, TLS: published.TLS, CheckedFrom: v1alpha1.CheckedFromOperator}
			}
		}
	}
	for i := range s.Status().Containers {
		entry := &s.Status().Containers[i]
		entry.UnseenPorts = slices.DeleteFunc(entry.UnseenPorts, func(port int32) bool {
			return s.Find(func(p *v1alpha1.JavaProcess) bool { return p.Endpoint != nil && p.Endpoint.Port == port }) != nil
		})
	}
}

func notRunning(s *Situation) string {
	if len(s.Exporter.Spec.Containers) == 0 || len(pod.Running(s.Pod)) == 0 {
		return "No container of the pod is running."
	}
	var names []string
	for _, name := range s.Exporter.Spec.Containers {
		names = append(names, string(name))
	}
	return fmt.Sprintf("None of the containers that spec.containers names (%s) is running in the pod.", strings.Join(names, ", "))
}
