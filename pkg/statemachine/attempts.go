package statemachine

import (
	"cmp"
	"maps"
	"sync"
	"time"
)

// Attempts counts failed tries of things that have no phase of their own, such as the
// members of a cluster, and delays the next ones. It is kept in memory: an operator that
// restarts tries at once. It is safe for concurrent use; the zero Attempts is ready.
type Attempts struct {
	// MinDelay is the time until the try after a first failure. It doubles with each
	// further one. 0 means a second.
	MinDelay time.Duration
	// MaxDelay is the maximum time between tries; 0, or more than MaxBackoff, means
	// MaxBackoff.
	MaxDelay time.Duration

	mu    sync.Mutex
	items map[string]failures
}

// failures are those of one item, in a row.
type failures struct {
	count int32
	last  time.Time
	why   *Outcome
}

// Try does something unless it failed too recently, in which case it returns the Outcome
// of that failure. The id identifies the item and everything that the attempt depends
// on: see Attempt. A try returns nil on success, which ends the attempt; every Outcome
// counts as a failure, whatever its Kind and RetryAfter are. Tries of one id that are made
// at the same time all happen.
func (a *Attempts) Try(id string, now time.Time, do func() *Outcome) *Outcome {
	if f := a.get(id); now.Before(f.last.Add(a.delay(f.count))) {
		return f.why
	}
	o := do()
	a.Note(id, now, o)
	return o
}

// Note counts a failure of an item, or ends its attempt if the Outcome is nil. Failures
// are forgotten after twice MaxBackoff without another one.
func (a *Attempts) Note(id string, now time.Time, o *Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.items, func(_ string, f failures) bool { return now.Sub(f.last) > 2*MaxBackoff })
	if o == nil {
		delete(a.items, id)
		return
	}
	if a.items == nil {
		a.items = map[string]failures{}
	}
	a.items[id] = failures{count: a.items[id].count + 1, last: now, why: o}
}

// Delay returns the time from the last failure of an item to its next try; 0 if it has
// not failed since its last success. It has no jitter: the items of an object are tried
// one after the other, in reconciles that have it.
func (a *Attempts) Delay(id string) time.Duration { return a.delay(a.get(id).count) }

func (a *Attempts) delay(count int32) time.Duration {
	if count == 0 {
		return 0
	}
	longest := MaxBackoff
	if a.MaxDelay > 0 {
		longest = min(a.MaxDelay, longest)
	}
	return min(min(cmp.Or(a.MinDelay, time.Second), longest)<<min(count-1, 20), longest)
}

func (a *Attempts) get(id string) failures {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.items[id]
}

// Upkeep is work on several items that is due in every phase, and done before a walk. A
// failure of one item delays neither the others nor the walk, as a Gate would: it is
// kept, so that steps that need the items can return it. The zero Upkeep has no failure;
// it is not safe for concurrent use.
type Upkeep struct {
	// Attempts delays failed tries. It is required for Try.
	Attempts *Attempts
	// Now is the time of the tries.
	Now time.Time

	kept *Outcome
}

// Try tries one item (Attempts.Try), and keeps the first failure.
func (u *Upkeep) Try(id string, do func() *Outcome) {
	u.Keep(u.Attempts.Try(id, u.Now, do))
}

// Keep keeps a failure that was not a try, unless it is nil or another one came first.
func (u *Upkeep) Keep(o *Outcome) {
	if u.kept == nil {
		u.kept = o
	}
}

// Kept returns the first failure; nil if there was none.
func (u *Upkeep) Kept() *Outcome {
	return u.kept
}
