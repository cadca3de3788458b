//go:build linux

package jvm

import (
	"os"
	"runtime"
	"syscall"
)

// As runs f with the user and group given, and nothing but them: f runs on an
// operating-system thread of its own, which ends with it, so that no other part
// of this process ever has these credentials. It returns an Error of Kind
// UserMismatch when they cannot be had, else f's error. Within f, what concerns
// that user calls nothing that starts another As.
//
// Being root is not enough for what f does here. In a container without
// CAP_SYS_PTRACE the kernel shows /proc/<pid>/{maps,root,cwd,fd} only to the
// process' own user and group (ptrace(2), "Ptrace access mode checking"), and
// HotSpot compares the peer's effective user and group with its own; JDK 8 does
// not even make an exception for root.
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

// become changes the credentials of the calling thread only: the functions of
// package syscall would change those of all threads.
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
