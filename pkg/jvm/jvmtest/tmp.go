//go:build linux

package jvmtest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
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
