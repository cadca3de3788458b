package cgroup

import "strings"

// Memory is the limit and the free memory of the control group with the least free
// memory, in bytes.
type Memory struct {
	// Limit is the amount of memory at which the kernel kills (memory.max) or throttles
	// (memory.high), whichever is lower. Throttling counts because a process whose memory
	// cannot be reclaimed makes no progress.
	Limit int64
	// Free is the memory that may still be used. Inactive page cache counts as free,
	// since the kernel reclaims it first (inactive_file; the kubelet's working set
	// excludes the same). Swap does not count.
	Free int64
}

// FreeMemory returns the memory of the tightest control group that contains process pid.
// limited is false if none has a limit, or if none can be read.
func FreeMemory(pid int) (memory Memory, limited bool) { return files("/").freeMemory(pid) }

func (fs files) freeMemory(pid int) (tightest Memory, limited bool) {
	for _, group := range fs.visible(pid, "memory") {
		if memory, ok := group.memory(); ok && (!limited || memory.Free < tightest.Free) {
			tightest, limited = memory, true
		}
	}
	return tightest, limited
}

// MemoryLimit returns the lowest limit, as in Memory, of the control groups that contain
// process pid. limited is false if none has a limit, or if none can be read.
func MemoryLimit(pid int) (limit int64, limited bool) { return files("/").memoryLimit(pid) }

func (fs files) memoryLimit(pid int) (lowest int64, limited bool) {
	for _, group := range fs.visible(pid, "memory") {
		if memory, ok := group.memory(); ok && (!limited || memory.Limit < lowest) {
			lowest, limited = memory.Limit, true
		}
	}
	return lowest, limited
}

// memory reads one group. It returns false if the group has no limit or cannot be read.
func (g group) memory() (Memory, bool) {
	limits, usage, cache := []string{"memory.max", "memory.high"}, "memory.current", "inactive_file"
	if g.version == v1 {
		limits, usage, cache = []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"
	}
	stat, err := g.read("memory.stat")
	if err != nil {
		return Memory{}, false
	}
	// Version 1 reports the lowest limit of this group and those above, which may not be
	// visible. Their usage is at least that of this group.
	limit := value(stat, "hierarchical_memory_limit")
	for _, name := range limits {
		limit = min(limit, g.number(name))
	}
	used := g.number(usage)
	if limit == unlimited || used == unlimited {
		return Memory{}, false
	}
	reclaimable := value(stat, cache)
	if reclaimable == unlimited {
		reclaimable = 0
	}
	return Memory{Limit: limit, Free: max(0, limit-max(0, used-reclaimable))}, true
}

// value returns the value of a key in memory.stat.
func value(stat, key string) int64 {
	for line := range strings.Lines(stat) {
		if rest, found := strings.CutPrefix(line, key+" "); found {
			return parse(rest)
		}
	}
	return unlimited
}
