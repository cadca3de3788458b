//go:build linux

package jvmtest

import (
	"strings"
	"testing"
)

// MemoryGroup is a control group with a memory limit that a test sets.
type MemoryGroup struct {
	controlGroup
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
		if g, ok := newControlGroup(t, mount, files.limit); ok {
			return &MemoryGroup{g, files}
		}
	}
	missing(t, "a control group for memory", "run the tests as root, where /sys/fs/cgroup can be written to")
	return nil
}

// Leave sets the limit to the current usage plus free bytes. Inactive page cache does not
// count as usage.
func (g *MemoryGroup) Leave(free int64) {
	g.t.Helper()
	g.write(g.files.limit, g.used()+free)
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
