//go:build linux

package jvm

import (
	"syscall"
	"unsafe"
)

// capabilities are those of a thread (capget(2)): of each set, the lower 32 bits and the
// upper ones.
type capabilities [2]struct{ effective, permitted, inheritable uint32 }

// sysPtrace is CAP_SYS_PTRACE, which is in the lower half.
const sysPtrace = 1 << 19

// call calls capget(2) or capset(2) for the calling thread, by version 3 of their data.
func (c *capabilities) call(number uintptr) error {
	header := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	if _, _, errno := syscall.RawSyscall(number, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(c)), 0); errno != 0 {
		return errno
	}
	return nil
}

// MayTrace reports whether this thread may make CAP_SYS_PTRACE effective.
func MayTrace() bool {
	var c capabilities
	return c.call(syscall.SYS_CAPGET) == nil && c[0].permitted&sysPtrace != 0
}

// traceable reports whether CAP_SYS_PTRACE is effective in this thread.
func traceable() bool {
	var c capabilities
	return c.call(syscall.SYS_CAPGET) == nil && c[0].effective&sysPtrace != 0
}

// bare reports whether no other capability than CAP_SYS_PTRACE is effective in this thread.
func bare() bool {
	var c capabilities
	return c.call(syscall.SYS_CAPGET) == nil && c[0].effective&^sysPtrace == 0 && c[1].effective == 0
}

// setEffective makes these of the lower half the only effective capabilities of this thread.
func setEffective(lower uint32) error {
	var c capabilities
	if err := c.call(syscall.SYS_CAPGET); err != nil {
		return err
	}
	c[0].effective, c[1].effective = lower, 0
	return c.call(syscall.SYS_CAPSET)
}
