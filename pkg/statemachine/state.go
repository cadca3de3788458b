package statemachine

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// State is the part of a record that a Walk reads and writes. The caller of the Walk
// persists it.
type State struct {
	// Phase is the last phase that holds; empty means the initial phase.
	Phase Phase
	// Reason and Message say why the next phase does not hold. They are empty if all
	// phases hold, or if nothing has been tried yet.
	Reason, Message string
	// Attempt counts failed tries since the last success; nil if there are none. It is
	// for the next phase, or for a later one after a way back.
	Attempt *Attempt
}

// Attempt counts the unsuccessful tries of a phase.
type Attempt struct {
	// Key identifies everything that the attempt depends on and whose changes raise
	// events. When it changes, the count restarts and refused steps are retried.
	// Backward prefixes it with "undo ", so that each direction has its own attempts.
	Key   string
	Phase Phase
	Count int32
	// LastError is the error of the last try, cut to 1024 bytes of valid UTF-8.
	LastError string
	// NextTime is the time of the next try without an event; nil if only an event
	// triggers one.
	NextTime *metav1.Time
}

// MaxBackoff is the maximum time between tries of anything that may recover without an
// event.
const MaxBackoff = 10 * time.Minute

// Backoff returns the delay after count tries: one second, doubled each time up to
// MaxBackoff, with 10% jitter.
func Backoff(count int32) time.Duration {
	return min(wait.Jitter(time.Second<<min(max(count-1, 0), 10), 0.1), MaxBackoff)
}

// Blocked reports whether the next phase must not be tried now, because it was tried
// with the same key and was refused or is still backing off.
func (s *State) Blocked(key string, kindOf func(reason string) Kind, now time.Time) bool {
	a := s.Attempt
	if a == nil || a.Key != key {
		return false
	}
	return kindOf(s.Reason) == Refused || a.NextTime != nil && now.Before(a.NextTime.Time)
}

// RequeueAfter returns the time until the next try without an event; 0 for never. A
// state that awaits an event is still retried after MaxBackoff.
func (s *State) RequeueAfter(kindOf func(reason string) Kind, now time.Time) time.Duration {
	switch {
	case kindOf(s.Reason) == Refused:
		return 0
	case s.Attempt == nil || s.Attempt.NextTime == nil:
		return MaxBackoff
	default:
		return max(s.Attempt.NextTime.Sub(now), time.Millisecond) // never 0, which means never
	}
}

// Record updates the State with the Outcome of a try of the phase. It does not change
// State.Phase.
func (s *State) Record(phase Phase, key string, o Outcome, now time.Time) {
	last := s.Attempt
	if last != nil && last.Key != key {
		last = nil
	}
	if o.Kind == Done {
		// Earlier phases may succeed on each try of a later one that fails.
		if last == nil || last.Phase == phase {
			s.Reason, s.Message, s.Attempt = "", "", nil
		}
		return
	}
	s.Reason, s.Message = o.Reason, o.Message
	attempt := &Attempt{Key: key, Phase: phase, Count: 1}
	if last != nil && last.Phase == phase && !o.Kind.AwaitsEvent() && o.RetryAfter == 0 {
		attempt.Count = last.Count + 1
	}
	if o.Err != nil {
		message := o.Err.Error()
		attempt.LastError = strings.ToValidUTF8(message[:min(len(message), 1024)], "")
	}
	if (o.Kind == Pending || o.Kind == Failed) && o.RetryAfter == 0 {
		// Rounded up to what the API keeps of a time.
		next := now.Add(Backoff(attempt.Count) + time.Second - 1)
		attempt.NextTime = new(metav1.NewTime(next.Truncate(time.Second)))
	}
	s.Attempt = attempt
}
