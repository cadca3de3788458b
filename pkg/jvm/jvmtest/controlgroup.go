//go:build linux

package jvmtest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ControlGroup is a control group that a JVM is started in.
type ControlGroup interface {
	// procs returns the file that takes the IDs of processes to move into the group.
	procs() string
}

type controlGroup struct {
	t   *testing.T
	dir string
}

// newControlGroup creates a control group in a mounted hierarchy, which is removed at the
// end of the test. It reports whether it has a file.
func newControlGroup(t *testing.T, mount, file string) (controlGroup, bool) {
	t.Helper()
	dir, err := os.MkdirTemp(mount, "jvmtest-") //nolint:usetesting // control groups can only be created here
	if err != nil {
		return controlGroup{}, false
	}
	g := controlGroup{t: t, dir: dir}
	t.Cleanup(g.remove) // runs after the processes of the test, which start later, have ended
	_, err = os.Stat(g.file(file))
	return g, err == nil
}

func (g controlGroup) procs() string { return g.file("cgroup.procs") }

func (g controlGroup) file(name string) string { return filepath.Join(g.dir, name) }

func (g controlGroup) write(name string, n int64) {
	g.t.Helper()
	if err := os.WriteFile(g.file(name), strconv.AppendInt(nil, n, 10), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g controlGroup) read(name string) string {
	g.t.Helper()
	data, err := os.ReadFile(g.file(name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(data)
}

func (g controlGroup) number(text string) int64 {
	g.t.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// remove removes the group, waiting until the kernel has noticed the end of its last
// process.
func (g controlGroup) remove() {
	deadline := time.After(time.Minute)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := os.Remove(g.dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		select {
		case <-deadline:
			g.t.Errorf("the control group stays: %v", err)
			return
		case <-ticker.C:
		}
	}
}
