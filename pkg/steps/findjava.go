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

// FindJava inspects the running containers and identifies the Java processes to attach
// to.
type FindJava struct{}

// Phase implements statemachine.Step.
func (FindJava) Phase() statemachine.Phase { return JavaFound }

// OnlyObserves implements statemachine.Observer: an inspection looks for the helper that
// an earlier one installed in the container.
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

// Undo implements statemachine.Step. The containers are inspected again if the pod comes
// back.
func (FindJava) Undo(_ context.Context, s *Scope) statemachine.Outcome {
	s.Status().Containers = nil
	return Done()
}

// due reports whether a container must be inspected now.
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
	// Until a JVM is found, each try inspects all containers.
	return len(s.attachable()) == 0 && len(here) == 0
}

// Due reports whether FindJava has containers to inspect or to exclude.
func Due(s *Scope) bool {
	chosen := s.containers()
	return slices.ContainsFunc(chosen, s.due) || s.Chooses() && slices.ContainsFunc(s.Status().Containers, func(entry v1alpha1.InspectedContainer) bool {
		return !slices.ContainsFunc(chosen, func(c container) bool { return c.name == entry.Name })
	})
}

// InspectAfter returns the time until FindJava must inspect a container without an
// event; 0 for never. It is consistent with due, so that it never returns a time at
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

// fewestTriesFirst returns the containers in the order of inspection: containers that
// hang come last.
func (s *Scope) fewestTriesFirst(containers []container) []container {
	tries := func(c container) int32 {
		if entry := s.current(c); entry != nil {
			return entry.Attempt.Tries()
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(containers), func(a, b container) int { return cmp.Compare(tries(a), tries(b)) })
}

// inspect inspects one container and merges the result into the record, unless there was
// no capacity for it.
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

// notInspected returns why a container is not inspected now; nil if it may be.
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

// exclude excludes the processes of containers that are no longer selected.
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

// recognize takes over published endpoints: they answered when the record that was lost
// still existed.
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

// minAge is the minimum age of a container at its inspection. It saves an exec that
// would take CPU from the application's start and only find JVMStarting: the helper does
// not touch younger JVMs (pkg/jvm), and no JVM is older than its container.
const minAge = 2 * time.Second

// tooYoung returns the time until a container has reached minAge; 0 if it has. A start
// time in the future comes from a different clock and is not waited for.
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
