package statemachine

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// State is what a Walk reads and writes of one record. Who calls the Walk
// persists it.
type State struct {
	// Phase is the last one that holds; empty is the plan's initial one.
	Phase Phase
	// Reason and Message say why the next phase does not hold; empty when all
	// hold, or nothing was tried yet.
	Reason, Message string
	// Attempt counts what was tried and has not succeeded since; nil when nothing
	// was. It is of the next phase, or of a later one after a way back.
	Attempt *Attempt
}

// Attempt counts what was tried for a phase and did not succeed.
type Attempt struct {
	// Key names all that the attempt depends on and that an event announces. When
	// it changes, the count starts again, and what was refused is tried. Backward
	// puts "undo " before it, so that each direction has its own attempts.
	Key   string
	Phase Phase
	Count int32
	// LastError is the error of the last try, at most 1024 bytes of valid UTF-8.
	LastError string
	// NextTime is when it is tried again without an event; nil when only an event
	// helps.
	NextTime *metav1.Time
}

// MaxBackoff is the longest time until something that may mend itself without an
// event is tried again.
const MaxBackoff = 10 * time.Minute

// Backoff is the time until the try after that many: a second, doubled each time
// up to MaxBackoff, with a tenth of jitter.
func Backoff(count int32) time.Duration {
	return min(wait.Jitter(time.Second<<min(max(count-1, 0), 10), 0.1), MaxBackoff)
}

// Blocked reports whether nothing is to be tried now for the next phase: it was
// tried with the same key, and needs a person or more time.
func (s *State) Blocked(key string, kindOf func(reason string) Kind, now time.Time) bool {
	a := s.Attempt
	if a == nil || a.Key != key {
		return false
	}
	return kindOf(s.Reason) == Refused || a.NextTime != nil && now.Before(a.NextTime.Time)
}

// RequeueAfter is the time until the next phase is tried again without an event;
// 0 for never. What an event announces is looked at all the same, now and then.
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

// Record takes an Outcome of a try for the phase into the State; the phase itself
// does not move.
func (s *State) Record(phase Phase, key string, o Outcome, now time.Time) {
	last := s.Attempt
	if last != nil && last.Key != key {
		last = nil
	}
	if o.Kind == Done {
		// On the way to a phase that did not succeed, others do so at each try.
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
