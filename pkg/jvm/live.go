//go:build linux

package jvm

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// initialized tells whether the virtual machine is in its live phase, in which
// agents may be loaded. HotSpot starts to catch SIGQUIT before that, with -Xrs it
// even opens its socket, and an agent that is loaded then is an error in the
// best case; JDK 21 crashes (JvmtiAgent::load; 24 and later refuse).
//
// Some JVMs have no thread by which that can be seen: before JDK 14, the one of
// periodic tasks is missing without such tasks, and no thread has a name with an
// old C library; until JDK 23 -XX:-UseNotificationThread takes the other away; and
// of an unknown version either may be meant. They are believed once what accepts
// attachers has been there for a while. No other JVM is, however old: it may have
// been frozen at any point of its start.
func (p Process) initialized() bool {
	if _, live := p.liveSince(); live {
		return true
	}
	major := Major(p.Version)
	if major >= 14 && !p.unnotified {
		return false
	}
	start, found := p.thread("Signal Dispatch", "Attach Listener")
	if !found && (major == 0 || major >= 14) {
		return false
	}
	if !found {
		start = p.StartTime
	}
	return since(start) > startup
}

// startup is how long a JVM may take from the start of the threads that accept
// attachers to its live phase. A variable for its test.
var startup = 30 * time.Second

// liveSince tells when the first thread began that Threads::create_vm starts after
// the live phase did, if it is there: the notification thread since JDK 14, before
// that the one of periodic tasks, which JDK 21 starts earlier.
func (p Process) liveSince() (start uint64, live bool) {
	names := []string{"Notification Th"}
	if major := Major(p.Version); major > 0 && major < 21 {
		names = append(names, "VM Periodic Tas")
	}
	return p.thread(names...)
}

// thread finds a thread with one of the names, of which the kernel keeps 15
// characters, and tells when it started, in the unit of StartTime.
func (p Process) thread(names ...string) (start uint64, found bool) {
	tasks, err := os.ReadDir(procPath(p.PID, "task"))
	if err != nil {
		return 0, false
	}
	for _, task := range tasks {
		comm, err := readProc(p.PID, "task/"+task.Name()+"/comm")
		if err != nil || !slices.Contains(names, strings.TrimSuffix(string(comm), "\n")) {
			continue
		}
		stat, err := readProc(p.PID, "task/"+task.Name()+"/stat")
		if err != nil {
			continue
		}
		if _, start, err := parseStat(stat); err == nil {
			return start, true
		}
	}
	return 0, false
}

// age is how long the JVM has been running.
func (p Process) age() time.Duration { return since(p.StartTime) }

// since is how long ago a start time was, by the clock that it is of.
func since(start uint64) time.Duration {
	const (
		clockBoottime = 7                     // clock_gettime(2)
		tick          = 10 * time.Millisecond // USER_HZ is 100 on every architecture that Go runs on
	)
	var now syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(start)*tick
}
