//go:build linux

package jvm

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// Constants of openat2(2), from linux/openat2.h and asm-generic/unistd.h. (Package
// golang.org/x/sys/unix has them, but makes the helper 50 KB larger.)
const (
	sysOpenat2          = 437
	resolveNoMagicLinks = 0x02
	resolveInRoot       = 0x10
)

// oPath is O_PATH of open(2), which package syscall lacks.
const oPath = 0x200000

// openHow is struct open_how.
type openHow struct{ flags, mode, resolve uint64 }

// openInRoot opens a directory below root. All links on the way are resolved within root.
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
