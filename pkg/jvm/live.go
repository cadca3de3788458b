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

// live returns how long the virtual machine has been in its live phase, in which
// agents may be loaded, and whether it is. HotSpot starts to catch SIGQUIT before
// that, with -Xrs it even opens its socket, and an agent that is loaded then is an
// error in the best case; JDK 21 crashes (JvmtiAgent::load; 24 and later refuse).
//
// The witness is a thread that Threads::create_vm starts after the live phase did:
// the notification thread since JDK 14, before that the one of periodic tasks,
// which JDK 21 starts earlier. Some JVMs have neither, or no names of threads (an
// old C library), and a later JDK may call them something else. Such a JVM is
// believed once it has had far more time and CPU than any start takes: age alone
// proves nothing, since it may have been frozen at any point of its start.
func (p Process) live() (since time.Duration, ok bool) {
	names := kernelNames("Notification Thread")
	if major := Major(p.Version); major > 0 && major < 21 {
		names = append(names, kernelNames("VM Periodic Task Thread")...)
	}
	if thread, found := p.thread(names...); found {
		return age(thread.start), true
	}
	since = age(p.StartTime) - unknownStart
	return since, since >= 0 && p.usedStartCPU()
}

// unknownStart is how long a JVM may take to reach its live phase where no thread
// shows it. A variable for its test.
var unknownStart = 30 * time.Second

// kernelNames returns the forms of a thread's name in the kernel, which keeps 15
// bytes: the first ones, and from JDK 26 on what HotSpot leaves when it takes out
// the middle (os::set_native_thread_name in os_linux.cpp).
func kernelNames(name string) []string {
	const kept = 15
	if len(name) <= kept {
		return []string{name}
	}
	return []string{name[:kept], name[:7] + ".." + name[len(name)-6:]}
}

// StartTimeout is how long an application is left to its own start at most. What
// its main settles first, such as java.util.logging.manager, is settled for it
// when an agent comes before: WildFly does not start then. Sooner, at startAge, a
// JVM is taken to have started that used startCPU: before their main, JVMs used
// 0.1 s, and 0.8 s with the stock exporter as a -javaagent, whose premain comes
// first; at a limit of 100m CPU that takes 8 s. It is a variable for tests, whose
// applications say when they are up.
var StartTimeout = 10 * time.Second

const (
	startAge = 2 * time.Second
	startCPU = time.Second
)

// started reports whether the JVM, whenever its container was started, has had its
// time to start the application.
func (p Process) started() bool {
	age := age(p.StartTime)
	return age >= StartTimeout || age >= startAge && p.usedStartCPU()
}

// usedStartCPU reports whether the process has had startCPU, user and system.
func (p Process) usedStartCPU() bool {
	data, err := readProc(p.PID, "stat")
	if err != nil {
		return false
	}
	stat, err := parseStat(data)
	return err == nil && stat.cpu >= startCPU
}

// thread finds a thread that has one of the names in the kernel.
func (p Process) thread(names ...string) (thread stat, found bool) {
	tasks, err := os.ReadDir(procPath(p.PID, "task"))
	if err != nil {
		return stat{}, false
	}
	for _, task := range tasks {
		comm, err := readProc(p.PID, "task/"+task.Name()+"/comm")
		if err != nil || !slices.Contains(names, strings.TrimSuffix(string(comm), "\n")) {
			continue
		}
		data, err := readProc(p.PID, "task/"+task.Name()+"/stat")
		if err != nil {
			continue
		}
		if thread, err := parseStat(data); err == nil {
			return thread, true
		}
	}
	return stat{}, false
}

// age is how long ago a start time was, by the clock that it is of.
func age(start uint64) time.Duration {
	const clockBoottime = 7 // clock_gettime(2)
	var now syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(start)*tick
}
