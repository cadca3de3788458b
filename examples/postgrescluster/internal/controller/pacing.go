package controller

import (
	"maps"
	"sync"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/statemachine"
)

// The longest times until what failed is tried again, and until a member that ended young is
// replaced.
const (
	maxRetryDelay       = time.Minute
	maxReplacementDelay = 5 * time.Minute
)

// pacing has what failed wait, longer with each failure, while the cluster is reconciled every
// pollInterval for what its members do. It is kept in memory: an operator that starts anew
// tries at once. The zero pacing is ready; it may be used concurrently.
type pacing struct {
	mu       sync.Mutex
	failures map[string]failures
}

// failures are those of one thing that is tried, in a row.
type failures struct {
	count   int32
	last    time.Time
	outcome *statemachine.Outcome
}

// try does something unless it failed lately; then it returns what that came to.
func (p *pacing) try(id string, now time.Time, do func() *statemachine.Outcome) *statemachine.Outcome {
	if f := p.get(id); f.count > 0 && now.Before(f.last.Add(min(statemachine.Backoff(f.count), maxRetryDelay))) {
		return f.outcome
	}
	o := do()
	p.put(id, o, now)
	return o
}

// again reports whether something may be done that was done before, and counts it as done if so:
// that it has to be done again shows that it came to nothing. What replaces a member is done less
// often than what tells it something.
func (p *pacing) again(id string, now time.Time, replaces bool) bool {
	f := p.get(id)
	delay := min(statemachine.Backoff(f.count), maxRetryDelay)
	if replaces {
		delay = p.replacementDelay(id)
	}
	if f.count > 0 && now.Before(f.last.Add(delay)) {
		return false
	}
	p.put(id, fails(ReasonJoining, nil, "It was told before."), now)
	return true
}

// replacementDelay is how long a member waits for its replacement after it ended young.
func (p *pacing) replacementDelay(id string) time.Duration {
	f := p.get(id)
	if f.count == 0 {
		return 0
	}
	return min(replaceDelay<<min(f.count-1, 10), maxReplacementDelay)
}

func (p *pacing) get(id string) failures {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failures[id]
}

// put counts a failure, or forgets those before if o is nil.
func (p *pacing) put(id string, o *statemachine.Outcome, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o == nil {
		delete(p.failures, id)
		return
	}
	maps.DeleteFunc(p.failures, func(_ string, f failures) bool { return now.Sub(f.last) > 2*maxReplacementDelay })
	if p.failures == nil {
		p.failures = map[string]failures{}
	}
	p.failures[id] = failures{count: p.failures[id].count + 1, last: now, outcome: o}
}
