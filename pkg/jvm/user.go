//go:build linux

package jvm

import (
	"os"
	"runtime"
	"syscall"
)

// As runs f with only the given user and group as its effective ones. f runs on its own
// operating-system thread, which ends with it, and is never the main thread; the real and the
// saved IDs stay, so that no process of that user may signal, limit or trace this process
// meanwhile (kill_ok_by_cred, check_prlimit_permission and __ptrace_may_access in the kernel).
// As returns an Error of Kind UserMismatch if it cannot obtain the user and the group,
// otherwise f's error. Within f, a nested As for the same user calls its function directly, on
// the same thread; so does As for the user and group that this process has.
//
// Being root is not sufficient for f. In a container without CAP_SYS_PTRACE, the kernel
// grants access to /proc/<pid>/{maps,root,cwd,fd} only to the process' own user and group
// (ptrace(2), "Ptrace access mode checking": those for access to files, which follow the
// effective ones), and HotSpot compares the peer's effective user and group with its own; JDK 8
// makes no exception for root.
func As(uid, gid int, f func() error) error {
	return as{uid: uid, gid: gid}.call(f)
}

// As is the function As for the user and group of the process. If the kernel does not let
// that user see into the process (see hidden), f's thread keeps CAP_SYS_PTRACE effective,
// provided that this process has it, as a node agent does. No other capability is,
// on a node not for root either; elsewhere root keeps those of this process, which are its
// container's or its host's.
func (p Process) As(f func() error) error {
	return as{p.UID, p.GID, MayTrace() && p.hidden(), p.OnNode()}.call(f)
}

// As is the function As for a user of the container. On a node no capability is effective in f,
// also if the user is root.
func (c Container) As(uid, gid int, f func() error) error {
	return as{uid: uid, gid: gid, bare: c.OnNode()}.call(f)
}

// as are credentials of a thread.
type as struct {
	uid, gid int
	// traces is set if CAP_SYS_PTRACE is to be effective.
	traces bool
	// bare is set if no other capability may be, also for root.
	bare bool
}

// has reports whether the calling thread has these credentials.
func (a as) has() bool {
	return a.isUser() && (!a.traces || traceable()) && (!a.bare || bare())
}

func (a as) isUser() bool { return a.uid == os.Geteuid() && a.gid == os.Getegid() }

// take gives the calling thread these credentials.
func (a as) take() error {
	if !a.isUser() {
		if err := become(a.uid, a.gid); err != nil {
			return err
		}
	}
	switch {
	case a.traces:
		return setEffective(sysPtrace)
	case a.bare:
		return setEffective(0)
	}
	return nil
}

// call calls f with these credentials.
func (a as) call(f func() error) error {
	if a.has() {
		return f()
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() { // Go never ends the main thread: held here, another one runs f
			defer runtime.UnlockOSThread()
			result <- a.call(f)
			return
		}
		// Never unlocked from here on: the thread ends with this goroutine.
		if err := a.take(); err != nil {
			result <- errorf(UserMismatch, "The JVM runs as user %d, group %d; this process runs as user %d, group %d and cannot become them: %v.",
				a.uid, a.gid, os.Geteuid(), os.Getegid(), err)
			return
		}
		result <- f()
	}()
	return <-result
}

// Outside runs f as this process' own user, also within As.
func Outside(f func() error) error {
	result := make(chan error, 1)
	go func() { result <- f() }() // no goroutine is started on the locked thread of another
	return <-result
}

// AsUserOf is As with the user and group of a process of the container.
func (c Container) AsUserOf(pid int, f func() error) error {
	p := Process{PID: pid, in: c}
	if err := p.readStatus(); err != nil {
		return err
	}
	return p.As(f)
}

// become changes the effective credentials, and with them those for access to files, of the
// calling thread only, whereas the functions of package syscall change those of all threads.
func become(uid, gid int) error {
	const unchanged = ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, unchanged, uintptr(gid), unchanged); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, unchanged, uintptr(uid), unchanged); errno != 0 {
		return errno
	}
	return nil
}
