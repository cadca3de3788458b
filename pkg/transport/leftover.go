package transport

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"banzaicloud.com/jmx-exporter-operator/apis/v1alpha1"
)

// leftovers counts the commands that did not exit, by container instance. Canceling a
// stream does not end the process behind it, and a process that hangs in a tool or in
// /proc keeps its part of the container's memory and PIDs. So the more leftovers there
// are, the less often another command is started. It is safe for concurrent use.
type leftovers struct {
	instances *lru.Cache
	clock     clock.PassiveClock
}

type instance struct {
	pod             types.UID
	container, name string
}

type leftover struct {
	commands int
	last     time.Time
	// purpose is the purpose of the last command.
	purpose Purpose
}

const (
	// maxLeftovers is how many commands may be left in a container before the next one
	// has to wait.
	maxLeftovers = 3
	// leftoverPause is how long it has to wait; each further leftover doubles it, up to
	// maxLeftoverPause.
	leftoverPause    = time.Minute
	maxLeftoverPause = 24 * time.Hour
)

// newLeftovers returns leftovers that remember a number of container instances.
func newLeftovers(instances int) *leftovers { return &leftovers{lru.New(instances), clock.RealClock{}} }

func instanceOf(in Container) instance { return instance{in.PodUID, in.ID, in.Name} }

func (l *leftovers) get(c Container) leftover {
	value, _ := l.instances.Get(instanceOf(c))
	left, _ := value.(leftover)
	return left
}

// note records whether a command in a container ended or was left there. A command that
// ended resets the count, since it shows that the container recovered.
func (l *leftovers) note(c Container, ended bool) {
	if ended {
		l.instances.Remove(instanceOf(c))
		return
	}
	l.instances.Add(instanceOf(c), leftover{commands: l.get(c).commands + 1, last: l.clock.Now(), purpose: c.Origin.Purpose})
}

// check returns errLeftovers while a container has too many leftovers for another command.
// The first command of a detach does not wait: a detach has little time, and otherwise the
// agent would stay in a container that has recovered.
func (l *leftovers) check(c Container) error {
	left := l.get(c)
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
