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

// live reports whether the VM is in its live phase, in which agents may be loaded, and
// for how long. HotSpot catches SIGQUIT before that, and with -Xrs even opens its socket;
// loading an agent then fails at best, and crashes JDK 21 (JvmtiAgent::load; 24 and later
// refuse).
//
// The evidence is a thread that Threads::create_vm starts after the live phase began: the
// notification thread since JDK 14, before that the thread of periodic tasks, which JDK
// 21 starts earlier. Some JVMs have neither thread, or no thread names (an old C
// library), and a later JDK may rename them. Such a JVM is considered live once it has
// had far more time and CPU than any start takes: age alone proves nothing, since the JVM
// may have been frozen at any point of its start.
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

// unknownStart is how long a JVM may take to reach its live phase if no thread shows it.
// A variable for tests.
var unknownStart = 30 * time.Second

// kernelNames returns the forms that a thread name has in the kernel, which keeps 15
// bytes: the first 15, and from JDK 26 on the name with its middle removed by HotSpot
// (os::set_native_thread_name in os_linux.cpp).
func kernelNames(name string) []string {
	const kept = 15
	if len(name) <= kept {
		return []string{name}
	}
	return []string{name[:kept], name[:7] + ".." + name[len(name)-6:]}
}

// StartTimeout is the longest that attaching is delayed for the application's own start.
// An agent that loads earlier can initialize what the application's main must initialize
// first, such as java.util.logging.manager: WildFly then fails to start. The wait ends
// earlier, at startAge, for a JVM that has used startCPU: JVMs used 0.1 s of CPU before
// main, and 0.8 s with the stock exporter as a -javaagent, whose premain runs first; with
// a limit of 100m CPU that takes 8 s. It is a variable for tests, whose applications
// report when they are up.
var StartTimeout = 10 * time.Second

const (
	startAge = 2 * time.Second
	startCPU = time.Second
)

// started reports whether the JVM has had its time to start the application, regardless
// of when its container started.
func (p Process) started() bool {
	age := age(p.StartTime)
	return age >= StartTimeout || age >= startAge && p.usedStartCPU()
}

// usedStartCPU reports whether the process has used startCPU of user and system time.
func (p Process) usedStartCPU() bool {
	data, err := readProc(p.PID, "stat")
	if err != nil {
		return false
	}
	stat, err := parseStat(data)
	return err == nil && stat.cpu >= startCPU
}

// thread returns a thread that has one of the given names in the kernel.
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

// age returns the time since start, in clock ticks since boot, by CLOCK_BOOTTIME.
func age(start uint64) time.Duration {
	const clockBoottime = 7 // clock_gettime(2)
	var now syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(start)*tick
}
