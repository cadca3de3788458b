//go:build linux

package jvm

import (
	"context"
	"time"
)

// HotSpot opens its attach socket 1.4 ms after SIGQUIT in the median, and 2.5 ms
// at most. A JVM that needs longer is paused or short of CPU, and what looks at it
// meanwhile takes the CPU of the same container.
const (
	shortPolls = 20
	shortPoll  = time.Millisecond
	longPoll   = 100 * time.Millisecond
)

// poll spaces looks at one JVM: the first shortPolls shortPoll apart, the others
// twice as far each time, up to longPoll. Its zero value is ready to use.
type poll struct{ looks int }

// wait waits until the next look is due and reports whether it is: not once ctx
// is done.
func (p *poll) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(p.next()):
		return true
	}
}

// next counts a look and returns the time until the one after it.
func (p *poll) next() time.Duration {
	p.looks++
	interval := shortPoll
	for doubled := shortPolls; doubled < p.looks && interval < longPoll; doubled++ {
		interval *= 2
	}
	return min(interval, longPoll)
}
