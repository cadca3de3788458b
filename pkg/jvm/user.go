//go:build linux

package jvm

import (
	"os"
	"runtime"
	"syscall"
)

// As runs f with only the given user and group. f runs on its own operating-system
// thread, which ends with it, so that no other part of this process ever has these
// credentials. As returns an Error of Kind UserMismatch if it cannot obtain them,
// otherwise f's error. Within f, a nested As for the same user calls its function
// directly, on the same thread.
//
// Being root is not sufficient for f. In a container without CAP_SYS_PTRACE, the kernel
// grants access to /proc/<pid>/{maps,root,cwd,fd} only to the process' own user and group
// (ptrace(2), "Ptrace access mode checking"), and HotSpot compares the peer's effective
// user and group with its own; JDK 8 makes no exception for root.
func As(uid, gid int, f func() error) error {
	if uid == os.Geteuid() && gid == os.Getegid() {
		return f()
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		if err := become(uid, gid); err != nil {
			result <- errorf(UserMismatch, "The JVM runs as user %d, group %d; this process runs as user %d, group %d and cannot become them: %v.",
				uid, gid, os.Geteuid(), os.Getegid(), err)
			return
		}
		result <- f()
	}()
	return <-result
}

// AsUserOf is As with the user and group of a process.
func AsUserOf(pid int, f func() error) error {
	p := Process{PID: pid}
	if err := p.readStatus(); err != nil {
		return err
	}
	return As(p.UID, p.GID, f)
}

// become changes the credentials of the calling thread only, whereas the functions of
// package syscall change those of all threads.
func become(uid, gid int) error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
		return errno
	}
	return nil
}
