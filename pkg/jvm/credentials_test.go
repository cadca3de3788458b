//go:build linux

package jvm

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"banzaicloud.com/jmx-exporter-operator/pkg/jvm/jvmtest"
)

const (
	// actsAs makes this binary act as another user with As, until its standard input ends.
	actsAs = "JVM_TEST_ACTS_AS"
	// attacked makes this binary attack a process, and print what it may do to it.
	attacked = "JVM_TEST_ATTACKED"
)

// actAs acts as another user often, so that the main thread would take part, and reports how
// many of its threads have their IDs afterwards.
func actAs(user int) {
	onMain := 0
	act := func(f func()) {
		err := As(user, user, func() error {
			if syscall.Gettid() == os.Getpid() {
				onMain++
			}
			f()
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	for range 50 {
		act(func() {})
	}
	act(func() {
		fmt.Printf("acts as %d, on the main thread %d times\n", os.Geteuid(), onMain)
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the end
	})
}

// attackOn prints what this process may do to each thread of another process.
func attackOn(pid int) {
	tasks, err := os.ReadDir(procPath(pid, "task"))
	if err != nil {
		panic(err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			panic(err)
		}
		which := "a thread"
		if tid == pid {
			which = "the main thread"
		}
		var limit syscall.Rlimit
		var cpus [128]byte
		for _, may := range []struct {
			what string
			call func() syscall.Errno
		}{
			{"signal", func() syscall.Errno { return errno(syscall.SYS_KILL, uintptr(tid), 0) }},
			{"signal by its process", func() syscall.Errno { return errno(syscall.SYS_TGKILL, uintptr(pid), uintptr(tid), 0) }},
			{"limit", func() syscall.Errno {
				return errno(syscall.SYS_PRLIMIT64, uintptr(tid), syscall.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&limit)))
			}},
			{"schedule", func() syscall.Errno {
				size, _, failed := syscall.Syscall(syscall.SYS_SCHED_GETAFFINITY, uintptr(tid), unsafe.Sizeof(cpus), uintptr(unsafe.Pointer(&cpus)))
				if failed != 0 {
					return failed
				}
				return errno(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), size, uintptr(unsafe.Pointer(&cpus)))
			}},
			{"trace", func() syscall.Errno { return errno(syscall.SYS_PTRACE, ptraceSeize, uintptr(tid), 0, 0) }},
		} {
			if may.call() == 0 {
				fmt.Printf("may %s %s\n", may.what, which)
			}
		}
	}
}

// ptraceSeize is PTRACE_SEIZE of ptrace(2), which package syscall lacks.
const ptraceSeize = 0x4206

func errno(call uintptr, args ...uintptr) syscall.Errno {
	var six [6]uintptr
	copy(six[:], args)
	_, _, failed := syscall.Syscall6(call, six[0], six[1], six[2], six[3], six[4], six[5])
	return failed
}

// attackers returns what a process of a user may do to a process.
func attackers(t *testing.T, user uint32, pid int) []string {
	t.Helper()
	cmd := jvmtest.As(t, user, exec.Command("/proc/self/exe"))
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", attacked, pid))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Fields(strings.ReplaceAll(string(out), " ", "_"))
}

// While root acts as the JVM's user, a process of that user must not end, limit or trace this
// process: its own files and signals need only the effective IDs.
func TestActsAsIsProtected(t *testing.T) {
	jvmtest.NeedUsers(t)
	start := func(env string, user uint32) *jvmtest.Process {
		cmd := exec.Command("/proc/self/exe")
		if user != 0 {
			cmd = jvmtest.As(t, user, cmd)
		}
		cmd.Env = append(os.Environ(), env)
		return jvmtest.Run(t, cmd)
	}
	own := start(fmt.Sprintf("%s=%d", actsAs, nobody), nobody)
	own.AwaitOutput("acts as")
	if got := strings.Join(attackers(t, nobody, own.PID), " "); !strings.Contains(got, "may_signal_the_main_thread") || !strings.Contains(got, "may_limit_a_thread") {
		t.Fatalf("a process of the same user may only %s, so this test proves nothing", got)
	}
	root := start(fmt.Sprintf("%s=%d", actsAs, nobody), 0)
	root.AwaitOutput("acts as")
	if got := root.Output(); !strings.Contains(got, fmt.Sprintf("acts as %d, on the main thread 0 times\n", nobody)) {
		t.Errorf("the process %s", got)
	}
	for _, may := range attackers(t, nobody, root.PID) {
		if may != "may_schedule_a_thread" { // one that has the effective ID, and ends with what it does
			t.Errorf("a process of the user %s", may)
		}
	}
}
