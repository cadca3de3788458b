package statemachine

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// State is the part of a record that a Walk reads and writes. The caller of the Walk
// persists it, for example in a Record.
//
// +kubebuilder:object:generate=true
type State struct {
	// phase is the last phase that holds; empty means the initial phase.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// reason and message say why the next phase does not hold. They are empty if all
	// phases hold, or if nothing has been tried yet.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message is one actionable sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// attempt counts failed tries since the last success; nil if there are none. It is
	// for the next phase, or for a later one after a way back.
	// +optional
	Attempt *Attempt `json:"attempt,omitempty"`
}

// Attempt counts the unsuccessful tries of a phase.
//
// +kubebuilder:object:generate=true
type Attempt struct {
	// key identifies everything that the attempt depends on and whose changes raise
	// events. When it changes, the count restarts and refused steps are retried.
	// A removal prefixes it with "undo ", so that each direction has its own attempts.
	// +required
	// +kubebuilder:validation:MaxLength=256
	Key string `json:"key"`
	// phase is the phase that was tried.
	// +required
	Phase Phase `json:"phase"`
	// count is the number of tries.
	// +required
	Count int32 `json:"count"`
	// lastError is the error of the last try, cut to 1024 bytes of valid UTF-8.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	LastError string `json:"lastError,omitempty"`
	// nextTime is the time of the next try without an event; nil if only an event
	// triggers one.
	// +optional
	NextTime *metav1.Time `json:"nextTime,omitempty"`
}

// maxText is the maximum length of a message and of an error in a State, in bytes. A
// record with a longer one would not be accepted.
const maxText = 1024

// cut returns text with at most maxText bytes of valid UTF-8.
func cut(text string) string { return cutTo(text, maxText) }

func cutTo(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

// maxReason and maxKey are the maximum lengths of a reason and of a key.
const maxReason, maxKey = 64, 256

// persisted returns a key as a State has it: of a long one the beginning, and a digest of all.
func persisted(key string) string {
	if len(key) <= maxKey {
		return key
	}
	digest := fmt.Sprintf(" %x", sha256.Sum256([]byte(key)))
	return cutTo(key, maxKey-len(digest)) + digest
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
	if a == nil || a.Key != persisted(key) {
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
	key = persisted(key)
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
	s.Reason, s.Message = cutTo(o.Reason, maxReason), cut(o.Message)
	attempt := &Attempt{Key: key, Phase: phase, Count: 1}
	if last != nil && last.Phase == phase && !o.Kind.AwaitsEvent() && o.RetryAfter == 0 {
		attempt.Count = last.Count + 1
	}
	if o.Err != nil {
		attempt.LastError = cut(o.Err.Error())
	}
	if (o.Kind == Pending || o.Kind == Failed) && o.RetryAfter == 0 {
		// Rounded up to what the API keeps of a time.
		next := now.Add(Backoff(attempt.Count) + time.Second - 1)
		attempt.NextTime = new(metav1.NewTime(next.Truncate(time.Second)))
	}
	s.Attempt = attempt
}
