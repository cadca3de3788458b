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

// MemoryGroup is a control group with a memory limit that a test sets.
type MemoryGroup struct {
	t     *testing.T
	dir   string
	files memoryFiles
}

// memoryFiles are the names of a control group's files, which differ between version 1
// and 2.
type memoryFiles struct{ limit, usage, cache string }

// NeedMemoryGroup creates a control group that is removed at the end of the test. Where
// that is not possible, the test is skipped, or fails if CI is set.
func NeedMemoryGroup(t *testing.T) *MemoryGroup {
	t.Helper()
	for mount, files := range map[string]memoryFiles{
		"/sys/fs/cgroup/memory": {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
		"/sys/fs/cgroup":        {"memory.max", "memory.current", "inactive_file"},
	} {
		dir, err := os.MkdirTemp(mount, "jvmtest-") //nolint:usetesting // control groups can only be created here
		if err != nil {
			continue
		}
		g := &MemoryGroup{t: t, dir: dir, files: files}
		t.Cleanup(g.remove) // runs after the processes of the test, which start later, have ended
		if _, err := os.Stat(g.file(files.limit)); err == nil {
			return g
		}
	}
	missing(t, "a control group for memory", "run the tests as root, where /sys/fs/cgroup can be written to")
	return nil
}

// Leave sets the limit to the current usage plus free bytes. Inactive page cache does not
// count as usage.
func (g *MemoryGroup) Leave(free int64) {
	g.t.Helper()
	limit := strconv.FormatInt(g.used()+free, 10)
	if err := os.WriteFile(g.file(g.files.limit), []byte(limit), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g *MemoryGroup) used() int64 {
	g.t.Helper()
	used := g.number(g.read(g.files.usage))
	for line := range strings.Lines(g.read("memory.stat")) {
		if cache, found := strings.CutPrefix(line, g.files.cache+" "); found {
			return used - g.number(cache)
		}
	}
	g.t.Fatalf("memory.stat has no %s", g.files.cache)
	return 0
}

func (g *MemoryGroup) number(text string) int64 {
	g.t.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

func (g *MemoryGroup) file(name string) string { return filepath.Join(g.dir, name) }

func (g *MemoryGroup) read(name string) string {
	g.t.Helper()
	data, err := os.ReadFile(g.file(name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(data)
}

// remove removes the group, waiting until the kernel has noticed the end of its last
// process.
func (g *MemoryGroup) remove() {
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
