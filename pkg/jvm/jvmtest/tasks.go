//go:build linux

package jvmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TaskGroup is a control group with a limit of tasks that a test sets.
type TaskGroup struct {
	controlGroup
	limit, current *os.File // once hidden
}

// NeedTaskGroup creates a control group that is removed at the end of the test. Where that
// is not possible, the test is skipped, or fails if CI is set.
func NeedTaskGroup(t *testing.T) *TaskGroup {
	t.Helper()
	for _, mount := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		if g, ok := newControlGroup(t, mount, "pids.max"); ok {
			return &TaskGroup{controlGroup: g}
		}
	}
	missing(t, "a control group for pids", "run the tests as root, where /sys/fs/cgroup can be written to")
	return nil
}

// Leave sets the limit to the current number of tasks plus free ones.
func (g *TaskGroup) Leave(free int64) {
	g.t.Helper()
	if g.limit == nil {
		g.write("pids.max", g.number(g.read("pids.current"))+free)
		return
	}
	current := make([]byte, 32)
	n, err := g.current.ReadAt(current, 0)
	if n == 0 {
		g.t.Fatal(err)
	}
	if _, err := g.limit.WriteAt(strconv.AppendInt(nil, g.number(string(current[:n]))+free, 10), 0); err != nil {
		g.t.Fatal(err)
	}
}

// Hide makes the group's limit invisible to this process and those that it starts, as a
// control group above a container's own is. It returns the path of a program that enters
// the group and runs this binary.
func (g *TaskGroup) Hide() (program string) {
	g.t.Helper()
	open := func(name string, flag int) *os.File {
		f, err := os.OpenFile(g.file(name), flag, 0)
		if err != nil {
			g.t.Fatal(err)
		}
		g.t.Cleanup(func() { f.Close() })
		return f
	}
	procs := open("cgroup.procs", os.O_WRONLY)
	g.limit, g.current = open("pids.max", os.O_WRONLY), open("pids.current", os.O_RDONLY)
	hierarchy := filepath.Dir(g.dir)
	if err := syscall.Mount("hidden", hierarchy, "tmpfs", 0, ""); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		if err := syscall.Unmount(hierarchy, 0); err != nil {
			g.t.Error(err)
		}
	})
	program = filepath.Join(g.t.TempDir(), "program")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >/proc/%d/fd/%d && exec /proc/%[1]d/exe \"$@\"\n", os.Getpid(), procs.Fd())
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		g.t.Fatal(err)
	}
	return program
}

// LimitTasks sets the soft limit of how many tasks the user of the process, which is not
// root, may have (RLIMIT_NPROC of getrlimit(2)).
func (p *Process) LimitTasks(user uint32, n int64) {
	p.t.Helper()
	cmd := As(p.t, user, exec.Command("prlimit", "--pid", strconv.Itoa(p.PID), fmt.Sprintf("--nproc=%d:", n)))
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("prlimit: %v: %s", err, out)
	}
}
