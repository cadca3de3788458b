//go:build linux

package jvmtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"
)

// ChmodTmp changes the mode of /tmp for a test: an emptyDir of Kubernetes has 0o777,
// images have 0o1777.
func ChmodTmp(t *testing.T, mode uint32) {
	t.Helper()
	if err := syscall.Chmod("/tmp", mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Chmod("/tmp", 0o1777); err != nil {
			t.Error(err)
		}
	})
}

// NoexecTmp mounts /tmp noexec for a test.
func NoexecTmp(t *testing.T) {
	t.Helper()
	if err := syscall.Mount("", "/tmp", "", syscall.MS_REMOUNT|syscall.MS_NOEXEC, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Mount("", "/tmp", "", syscall.MS_REMOUNT, ""); err != nil {
			t.Error(err)
		}
	})
}

// As makes a command run as another user, with the group of the same number.
func As(t *testing.T, user uint32, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if user != 0 {
		NeedUsers(t)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
	return cmd
}

// Exchange lets a user swap two files continually, whenever both exist, until the process
// is stopped or the test ends.
func Exchange(t *testing.T, user uint32, a, b string) *Process {
	t.Helper()
	cmd := As(t, user, exec.Command("/proc/self/exe", a, b))
	cmd.Env = append(os.Environ(), role+"="+racer)
	p := Run(t, cmd)
	p.AwaitOutput("exchanged\n")
	return p
}

// race is the main function of the process that Exchange starts.
func race(a, b string) error {
	for i := 0; ; i++ {
		if err := exchange(a, b); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("exchange %s and %s: %w", a, b, err)
		}
		if i == 1 {
			fmt.Println("exchanged")
		}
	}
}

// exchange swaps a and b atomically.
func exchange(a, b string) error {
	const (
		atFDCWD        = -0x64
		renameExchange = 1 << 1 // RENAME_EXCHANGE of renameat2(2)
	)
	from, err := syscall.BytePtrFromString(a)
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(b)
	if err != nil {
		return err
	}
	here := atFDCWD
	_, _, errno := syscall.Syscall6(renameat2, uintptr(here), uintptr(unsafe.Pointer(from)), uintptr(here), uintptr(unsafe.Pointer(to)), renameExchange, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
