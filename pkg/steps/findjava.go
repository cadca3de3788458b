package steps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// FindJava inspects the running containers, and identifies the Java processes
// that are to be attached to.
type FindJava struct{}

// Phase implements statemachine.Step.
func (FindJava) Phase() statemachine.Phase { return JavaFound }

// OnlyObserves implements statemachine.Observer: the helper that an inspection brings
// into a container is looked for by the next one.
func (FindJava) OnlyObserves() {}

// Ensure implements statemachine.Step.
func (FindJava) Ensure(ctx context.Context, s *Scope) statemachine.Outcome {
	if runsWindows(s.Pod) {
		return unsupportedOS()
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
		return NotDone(v1alpha1.ReasonContainerNotRunning, notRunning(s))
	}
	if s.lost() { // and is not found again before each of these was inspected
		for _, c := range containers {
			s.expect(c)
		}
	}
	unsaved := false
	for _, c := range s.fewestTriesFirst(containers) {
		if !s.due(c) {
			continue
		}
		if unsaved { // it may have hung, and the next one may use up the time
			if err := s.Persist(ctx); err != nil {
				return failed(err)
			}
		}
		outcome := s.inspect(ctx, c)
		if outcome.Kind == statemachine.Queued {
			return outcome
		}
		unsaved = outcome.Kind == statemachine.Failed
	}
	if outcome := s.inspectThroughDoors(ctx, containers); outcome.Kind == statemachine.Queued {
		return outcome
	}
	s.choosePrimary()
	recognize(s)
	return s.found()
}

// Undo implements statemachine.Step: what was inspected is inspected again should
// the pod come back.
func (FindJava) Undo(_ context.Context, s *Scope) statemachine.Outcome {
	s.Status().Containers = nil
	return Done()
}

// due reports whether a container is to be inspected now.
func (s *Scope) due(c container) bool {
	entry := s.current(c)
	if entry == nil {
		return true
	}
	if entry.Reason != "" {
		state := containerState(entry)
		return !state.Blocked(s.Key(), KindOf, s.Now.Time) || s.takesDoor(c, entry)
	}
	if s.Chooses() && entry.Rules != rules(s.Exporter) || s.ReinspectAfter(entry) == 0 {
		return true
	}
	here := s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == c.id })
	for _, p := range here {
		state := processState(p)
		if state.Phase == Discovered && !p.Excluded && !state.Blocked(s.Key(), KindOf, s.Now.Time) {
			return true
		}
	}
	// Before any JVM is found, each try looks for one everywhere.
	return len(s.attachable()) == 0 && len(here) == 0
}

// Due reports whether FindJava has something to inspect, or to leave out.
func Due(s *Scope) bool {
	chosen := s.containers()
	return slices.ContainsFunc(chosen, s.due) || s.Chooses() && slices.ContainsFunc(s.Status().Containers, func(entry v1alpha1.InspectedContainer) bool {
		return !slices.ContainsFunc(chosen, func(c container) bool { return c.name == entry.Name })
	})
}

// InspectAfter is the time until FindJava has something to inspect without an
// event; 0 for never. It counts what due does, so that it never names a time at
// which nothing would be inspected.
func (s *Scope) InspectAfter() time.Duration {
	after := s.retryAfter
	earliest := func(wait time.Duration) {
		if wait > 0 && (after == 0 || wait < after) {
			after = wait
		}
	}
	retry := func(state statemachine.State) {
		if state.Attempt != nil && state.Attempt.NextTime != nil {
			earliest(state.RequeueAfter(KindOf, s.Now.Time))
		}
	}
	for _, c := range s.containers() {
		entry := s.current(c)
		if entry == nil {
			continue
		}
		if entry.Reason != "" {
			retry(containerState(entry))
			continue
		}
		earliest(s.ReinspectAfter(entry))
		for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool {
			return p.ContainerID == c.id && !p.Excluded && p.Phase == v1alpha1.PhaseDiscovered
		}) {
			retry(processState(p))
		}
	}
	return after
}

// fewestTriesFirst are the containers in the order in which they are inspected: those
// that hang come last.
func (s *Scope) fewestTriesFirst(containers []container) []container {
	tries := func(c container) int32 {
		if entry := s.current(c); entry != nil {
			return entry.Attempt.Tries()
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(containers), func(a, b container) int { return cmp.Compare(tries(a), tries(b)) })
}

// inspect looks into one container, and takes what it finds into the record; nothing
// when there was no room for it.
func (s *Scope) inspect(ctx context.Context, c container) statemachine.Outcome {
	if closed := s.notInspected(ctx, c); closed != nil {
		s.retryAfter = max(s.retryAfter, closed.RetryAfter)
		s.recordContainer(s.inspectedOrNew(c), *closed)
		return *closed
	}
	at := s.at(c.name)
	if closed := s.doorClosed(at); closed != nil {
		entry := s.inspectedOrNew(c)
		entry.Transport = at.Transport
		s.recordContainer(entry, *closed)
		return *closed
	}
	request := helperapi.Request{Files: s.aboutToStage(c)}
	if !s.keepsAll() {
		request.Rules = processRules(s.Exporter)
	}
	at.Transient = s.transient(c.name)
	report, err := s.Helper.Run(ctx, at, helperapi.VerbInspect, s.withTmp(c.name, request))
	outcome := Done()
	if err != nil {
		outcome = s.withoutDoor(failed(err))
	}
	if outcome.Kind == statemachine.Queued {
		return outcome
	}
	entry := s.inspectedOrNew(c)
	entry.Transport = cmp.Or(at.Transport, entry.Transport)
	if outcome.Kind != statemachine.Done {
		s.recordContainer(entry, outcome)
		return outcome
	}
	entry.HelperRemoved = at.Transient
	switch {
	case s.Chooses():
		entry.Rules = rules(s.Exporter)
	case s.keepsAll():
		entry.Rules = ""
	}
	if s.noteUser(at, entry, report.Processes) {
		return s.inspect(ctx, c)
	}
	if len(request.Files) > 0 {
		s.foundFiles(c.name, report.Files)
	}
	s.merge(c, report.Processes)
	s.recordContainer(entry, outcome)
	return outcome
}

// notInspected is why a container is not inspected now; nil when it may be.
func (s *Scope) notInspected(ctx context.Context, c container) *statemachine.Outcome {
	if refused := s.containerForbidden(ctx, c); refused != nil {
		return refused
	}
	wait := s.tooYoung(c)
	if wait == 0 {
		return nil
	}
	young := NotDone(v1alpha1.ReasonJVMStarting, "The container started less than 2s ago; inspection is delayed.")
	young.RetryAfter = wait
	return &young
}

// exclude leaves out the processes of containers that are not chosen any more.
func (s *Scope) exclude(containers []container) {
	if !s.Chooses() || len(running(s.Pod)) == 0 { // all stays as it is
		return
	}
	chosen := func(name string) bool {
		return slices.ContainsFunc(containers, func(c container) bool { return c.name == name })
	}
	for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool { return !chosen(p.Container) && Runs(s.Pod, p) }) {
		p.Excluded, p.Primary = true, false
	}
	s.Status().Containers = slices.DeleteFunc(s.Status().Containers, func(c v1alpha1.InspectedContainer) bool { return !chosen(c.Name) && !s.leads(c) })
}

// recognize takes endpoints over that are published: they answered to a record that
// was lost.
func recognize(s *Scope) {
	for _, p := range s.Chosen() {
		for _, published := range s.Published {
			if p.Endpoint == nil && published.Address == s.Pod.Status.PodIP && published.Port == p.Port {
				p.Endpoint = &v1alpha1.Endpoint{Address: published.Address, Port: published.Port, TLS: published.TLS, CheckedFrom: v1alpha1.CheckedFromOperator}
			}
		}
	}
}

func notRunning(s *Scope) string {
	if len(s.Exporter.Spec.Containers) == 0 || len(running(s.Pod)) == 0 {
		return "No container of the pod is running."
	}
	var names []string
	for _, name := range s.Exporter.Spec.Containers {
		names = append(names, string(name))
	}
	return fmt.Sprintf("None of the containers that spec.containers names (%s) is running in the pod.", strings.Join(names, ", "))
}

// minAge is how long a container runs at least before it is inspected. It saves an
// exec that would take CPU from the application's start and find nothing but
// JVMStarting: the helper does not touch a JVM of that age (pkg/jvm), and none in
// the container is older.
const minAge = 2 * time.Second

// tooYoung is the time until a container has run for minAge; 0 when it has. One
// that starts in the future does so by another clock, and is not waited for.
func (s *Scope) tooYoung(c container) time.Duration {
	for _, status := range ContainerStatuses(s.Pod) {
		if running := status.State.Running; running != nil && status.Name == c.name && !running.StartedAt.IsZero() {
			if age := s.Now.Sub(running.StartedAt.Time); 0 <= age && age < minAge {
				return minAge - age
			}
		}
	}
	return 0
}
