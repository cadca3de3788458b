//go:build linux

package jvm

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// What openat2(2) takes, from linux/openat2.h and asm-generic/unistd.h. (Package
// golang.org/x/sys/unix has it too, and makes the helper 50 KB larger.)
const (
	sysOpenat2          = 437
	resolveNoMagicLinks = 0x02
	resolveInRoot       = 0x10
)

// openHow is struct open_how.
type openHow struct{ flags, mode, resolve uint64 }

// openInRoot opens a directory below another one, which is the root for all links on
// the way.
func openInRoot(root *os.File, name string) (*os.File, error) {
	path, err := syscall.BytePtrFromString(name)
	if err != nil {
		return nil, err
	}
	how := openHow{flags: oPath | syscall.O_DIRECTORY | syscall.O_CLOEXEC, resolve: resolveInRoot | resolveNoMagicLinks}
	fd, _, errno := syscall.Syscall6(sysOpenat2, root.Fd(), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	runtime.KeepAlive(root)
	if errno != 0 {
		return nil, errno
	}
	return os.NewFile(fd, name), nil
}
