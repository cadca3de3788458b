package transport

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// leftovers are the commands that did not end in containers, by container instance:
// canceling a stream does not end the process behind it, and one that hangs in a tool or
// in /proc stays with what it has of the container's memory and PIDs. So the more there
// are, the less often another one is added. They are safe for concurrent use.
type leftovers struct {
	of    *lru.Cache
	clock clock.PassiveClock
}

type instance struct {
	pod             types.UID
	container, name string
}

type leftover struct {
	commands int
	last     time.Time
	// purpose is that of the last one.
	purpose Purpose
}

const (
	// maxLeftovers is how many commands are left in a container before the next one has
	// to wait.
	maxLeftovers = 3
	// leftoverPause is how long it waits then; twice as long after each other one.
	leftoverPause    = time.Minute
	maxLeftoverPause = 24 * time.Hour
)

func newLeftovers() *leftovers { return &leftovers{lru.New(maxOutcomes), clock.RealClock{}} }

func instanceOf(in Container) instance { return instance{in.PodUID, in.ID, in.Name} }

func (l *leftovers) in(c Container) leftover {
	if left, ok := l.of.Get(instanceOf(c)); ok {
		return left.(leftover)
	}
	return leftover{}
}

// note notes that a command ended in a container, so that those before it do not count,
// or that it was left there.
func (l *leftovers) note(c Container, ended bool) {
	if ended {
		l.of.Remove(instanceOf(c))
		return
	}
	l.of.Add(instanceOf(c), leftover{commands: l.in(c).commands + 1, last: l.clock.Now(), purpose: c.Origin.Purpose})
}

// check returns an error while no other command is to be added to those in a container. A
// detach does not wait for the first one, since its time is short, and an agent would stay
// in a container that has recovered.
func (l *leftovers) check(c Container) error {
	left := l.in(c)
	if left.commands < maxLeftovers || c.Origin.Purpose == PurposeDetach && left.purpose != PurposeDetach {
		return nil
	}
	pause := min(leftoverPause<<min(left.commands-maxLeftovers, 11), maxLeftoverPause)
	if l.clock.Since(left.last) >= pause {
		return nil
	}
	return errLeftovers
}

var errLeftovers = &Error{Reason: v1alpha1.ReasonContainerNotResponding, Message: "Several commands of the operator began in the container and did not end: it is starved of CPU, or a tool, /tmp or /proc hangs there. Another one is tried less and less often; restart the container if it does not recover."}
