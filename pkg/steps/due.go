package steps

import (
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
	"banzaicloud.com/jmx-exporter-operator/pkg/pod"
	"banzaicloud.com/jmx-exporter-operator/pkg/record"
	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// due reports whether a container must be inspected now.
func (s *Situation) due(c pod.Container) bool {
	entry := s.Current(c)
	if entry == nil {
		return true
	}
	if entry.Reason != "" {
		state := record.ContainerState(entry)
		return !state.Blocked(s.Key(), record.KindOf, s.Now.Time) || s.takesDoor(c, entry)
	}
	if s.chooses() && entry.Rules != rules(s.Exporter) || s.reinspectAfter(entry) == 0 {
		return true
	}
	here := s.Filter(func(p *v1alpha1.JavaProcess) bool { return p.ContainerID == c.ID })
	for _, p := range here {
		state := record.ProcessState(p)
		if state.Phase == Discovered && !p.Excluded && !state.Blocked(s.Key(), record.KindOf, s.Now.Time) {
			return true
		}
	}
	// Until a JVM is found, each try inspects all containers.
	return len(s.Attachable()) == 0 && len(here) == 0 && !s.settled(c, entry)
}

// settledAge is how long a pod is inspected repeatedly for a JVM that may still start,
// or be started again by a supervisor.
const settledAge = time.Hour

// settled reports whether the last inspection of a container came long after its start, and
// after the pod had no JVM any more, and nothing has changed since on which its result may
// depend. If it found no JVM, the container is inspected again only when the pod becomes
// ready, or with a new instance.
func (s *Situation) settled(c pod.Container, entry *v1alpha1.InspectedContainer) bool {
	found := meta.FindStatusCondition(s.Begun.Conditions, string(JavaFound))
	if entry.Time == nil || found == nil || found.Status == metav1.ConditionTrue || s.State.Attempt == nil || s.State.Attempt.Key != s.Key() {
		return false
	}
	started := s.startOf(c)
	return !started.IsZero() && entry.Time.Sub(started) >= settledAge && entry.Time.Sub(found.LastTransitionTime.Time) >= settledAge
}

// allSettled reports whether no inspection without an event is left for a pod in which no
// JVM was found.
func (s *Situation) allSettled() bool {
	return !slices.ContainsFunc(s.containers(), func(c pod.Container) bool {
		entry := s.Current(c)
		return entry == nil || entry.Reason != "" || !s.settled(c, entry)
	})
}

// inspectionDue reports whether FindJava has containers to inspect or to exclude.
func (s *Situation) inspectionDue() bool {
	chosen := s.containers()
	return slices.ContainsFunc(chosen, s.due) || s.chooses() && slices.ContainsFunc(s.Status().Containers, func(entry v1alpha1.InspectedContainer) bool {
		return !slices.ContainsFunc(chosen, func(c pod.Container) bool { return c.Name == entry.Name }) && !s.holdsUnseen(entry)
	})
}

// inspectAfter returns the time until FindJava must inspect a container without an
// event; 0 for never. It is consistent with due, so that it never returns a time at
// which nothing would be inspected.
func (s *Situation) inspectAfter() time.Duration {
	after := s.retryAfter
	earliest := func(wait time.Duration) {
		if wait > 0 && (after == 0 || wait < after) {
			after = wait
		}
	}
	retry := func(state statemachine.State) {
		if state.Attempt != nil && state.Attempt.NextTime != nil {
			earliest(state.RequeueAfter(record.KindOf, s.Now.Time))
		}
	}
	for _, c := range s.containers() {
		entry := s.Current(c)
		if entry == nil {
			continue
		}
		if entry.Reason != "" {
			retry(record.ContainerState(entry))
			continue
		}
		earliest(s.reinspectAfter(entry))
		for _, p := range s.Filter(func(p *v1alpha1.JavaProcess) bool {
			return p.ContainerID == c.ID && !p.Excluded && p.Phase == v1alpha1.PhaseDiscovered
		}) {
			retry(record.ProcessState(p))
		}
	}
	return after
}

const (
	// reinspectDelay is the minimum time between a pod becoming ready and its next
	// inspection.
	reinspectDelay = 30 * time.Second
	// reinspectSpread spreads the inspections of a fleet that becomes ready at once.
	reinspectSpread = 40 * time.Second
)

// reinspectAfter returns the time until a container is inspected again because its pod
// became ready since the last inspection: a JVM may have started late. 0 means now;
// negative means that there is no need, for example for a pod that was ready before and
// is health checked. A pod without a JVM is inspected no more often than with backoff.
func (s *Situation) reinspectAfter(entry *v1alpha1.InspectedContainer) time.Duration {
	ready := pod.ReadySince(s.Pod)
	if !s.chooses() || entry.Time == nil || !ready.After(entry.Time.Time) {
		return -1
	}
	unreachable := func(p *v1alpha1.JavaProcess) bool {
		return p.Container == entry.Name && p.Endpoint != nil && p.Endpoint.CheckedFrom.Beyond()
	}
	hash := fnv.New32a()
	hash.Write([]byte(s.Pod.UID))
	delay := reinspectDelay + time.Duration(hash.Sum32()%uint32(reinspectSpread/time.Second))*time.Second
	after := max(delay-s.Now.Sub(ready), 0)
	switch {
	case !entry.Ready:
		return after
	case len(s.Processes()) == 0:
		return max(after, statemachine.MaxBackoff-s.Now.Sub(entry.Time.Time))
	case s.HealthChecks && s.Find(unreachable) == nil:
		return -1
	}
	return after
}

// awaiting returns an Outcome with the time that its node agent is still awaited for, if it
// waits for one: until then, only the agent's event makes another try useful.
func (s *Situation) awaiting(o statemachine.Outcome) statemachine.Outcome {
	if o.Reason == v1alpha1.ReasonNodeAgentPending {
		o.RetryAfter = s.NodeAgent.AwaitedFor
	}
	return o
}

// awaitedFor returns the time until a container is inspected that waits for the node agent; 0
// if none waits, or if another container is inspected before.
func (s *Situation) awaitedFor() time.Duration {
	waits := func(c pod.Container) bool {
		entry := s.Current(c)
		return entry != nil && entry.Reason == v1alpha1.ReasonNodeAgentPending
	}
	if before := s.inspectAfter(); !slices.ContainsFunc(s.containers(), waits) || before > 0 && before < s.NodeAgent.AwaitedFor {
		return 0
	}
	return s.NodeAgent.AwaitedFor
}

// notInspected returns why a container is not inspected now; nil if it may be.
func (s *Situation) notInspected(c pod.Container) *statemachine.Outcome {
	if refused := s.containerForbidden(c); refused != nil {
		return refused
	}
	if invalid := s.rulesInvalid(); invalid != nil {
		return invalid
	}
	wait := s.tooYoung(c)
	if wait == 0 {
		return nil
	}
	young := record.NotDone(v1alpha1.ReasonJVMStarting, "The container started less than 2s ago; inspection is delayed.")
	young.RetryAfter = wait
	return &young
}

// minAge is the minimum age of a container at its inspection. It saves an exec that
// would take CPU from the application's start and only find JVMStarting: the helper does
// not touch younger JVMs (pkg/jvm), and no JVM is older than its container.
const minAge = 2 * time.Second

// tooYoung returns the time until a container has reached minAge; 0 if it has. A start
// time in the future comes from a different clock and is not waited for.
func (s *Situation) tooYoung(c pod.Container) time.Duration {
	started := s.startOf(c)
	if age := s.Now.Sub(started); !started.IsZero() && 0 <= age && age < minAge {
		return minAge - age
	}
	return 0
}

// startOf returns the time when a container started; zero if the kubelet does not report
// it.
func (s *Situation) startOf(c pod.Container) time.Time {
	for _, status := range pod.ContainerStatuses(s.Pod) {
		if running := status.State.Running; running != nil && status.Name == c.Name {
			return running.StartedAt.Time
		}
	}
	return time.Time{}
}
