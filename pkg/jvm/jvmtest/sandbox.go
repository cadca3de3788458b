//go:build linux

// Package jvmtest runs tests against real JVMs, with each test binary in its own sandbox:
// private PID and mount namespaces with an empty /tmp. Tests may therefore write files to
// /tmp that would harm others, see no Java processes but their own, and leave none
// behind, however they end.
package jvmtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// Environment variables of a re-executed test binary, and the roles it may have.
const (
	role      = "JVMTEST_ROLE"
	keep      = "JVMTEST_KEEP"
	hidden    = "JVMTEST_GROUPS_HIDDEN"
	sandboxed = "sandbox"
	container = "container"
	racer     = "racer"
)

// Main runs the tests in the sandbox and exits. Call it from TestMain.
func Main(m *testing.M) {
	switch os.Getenv(role) {
	case sandboxed:
		check(isolate())
		os.Exit(m.Run())
	case container:
		check(isolate())
		check(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
	case racer:
		check(race(os.Args[1], os.Args[2]))
	}
	if slices.Contains(os.Args, "-test.fuzzworker") { // already in the sandbox of its parent, connected by pipes
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // Pdeathsig applies to the parent thread
	cmd := reexec(sandboxed, testDirectories(), os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	check(err)
	os.Exit(0)
}

// reexec returns a command that runs this binary in new namespaces. A user other than
// root becomes root in a new user namespace.
func reexec(as, keeping string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), role+"="+as, keep+"="+keeping)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

// isolate mounts a private /proc and /tmp for this process, the first one of its
// namespaces. The directories to keep remain visible even if they are in /tmp.
func isolate() error {
	if err := os.Unsetenv(role); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if os.Getenv(hidden) != "" {
		if err := syscall.Mount("hidden", "/sys/fs/cgroup", "tmpfs", 0, ""); err != nil {
			return err
		}
	}
	restore, err := holdDirectories(filepath.SplitList(os.Getenv(keep)))
	if err != nil {
		return err
	}
	if err := syscall.Mount("tmp", "/tmp", "tmpfs", 0, "mode=1777"); err != nil {
		return err
	}
	return restore()
}

// holdDirectories returns a function that mounts those directories that are in /tmp
// again, after another /tmp has been mounted.
func holdDirectories(dirs []string) (restore func() error, err error) {
	held := map[string]*os.File{}
	for _, dir := range dirs {
		if strings.HasPrefix(dir, "/tmp/") {
			if held[dir], err = os.Open(dir); err != nil {
				return nil, err
			}
		}
	}
	return func() error {
		for dir, f := range held {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := syscall.Mount(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), dir, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
				return err
			}
			f.Close()
		}
		return nil
	}, nil
}

// testDirectories returns the directories that must remain visible: those of "go test",
// including coverage, and this module's.
func testDirectories() string {
	var dirs []string
	for _, arg := range os.Args {
		if name, ok := strings.CutPrefix(arg, "-test.testlogfile="); ok {
			dirs = append(dirs, filepath.Dir(name))
		}
	}
	if module, err := ModuleRoot(); err == nil {
		dirs = append(dirs, module)
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
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

// ModuleRoot returns the directory of this repository's go.mod: the closest one above the
// working directory, which is that of the test's package.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", os.ErrNotExist
}

// NeedUsers skips a test that needs several users where there is only one: in the user
// namespace of a user other than root. Where CI is set, it fails the test.
func NeedUsers(t *testing.T) {
	t.Helper()
	mapped, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	if fields := strings.Fields(string(mapped)); len(fields) == 3 && fields[2] == "1" {
		missing(t, "a second user", "run the tests as root")
	}
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

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "jvmtest: no sandbox; run the tests as root, or allow user namespaces:", err)
		os.Exit(1)
	}
}
