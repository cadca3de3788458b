// Package cgroup reads how much memory the control groups of a process leave it, for
// version 1 and 2 (cgroups(7)), as far as they are visible.
package cgroup

import (
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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

// FreeMemory returns the memory of the tightest control group that contains process pid:
// its own or one above. limited is false if none has a limit, or if none can be read: a
// cgroup namespace hides the groups above a container's own (cgroup_namespaces(7)), and a
// container may not mount the control groups at all.
//
// The groups are read where this process has them mounted, otherwise where process pid
// has: in another container of the pod, which requires permission to access its root
// (ptrace(2)).
func FreeMemory(pid int) (memory Memory, limited bool) {
	if memory, limited = files("/").freeMemory(pid, "self", ""); limited {
		return memory, limited
	}
	process := strconv.Itoa(pid)
	return files("/").freeMemory(pid, process, path.Join("proc", process, "root"))
}

// files is the directory under which proc and the hierarchies are mounted.
type files string

// freeMemory reads the groups of process pid through the mounts of process mounter, whose
// root directory is root.
func (fs files) freeMemory(pid int, mounter, root string) (tightest Memory, limited bool) {
	groups, err := fs.read("proc", strconv.Itoa(pid), "cgroup")
	if err != nil {
		return Memory{}, false
	}
	mounts, err := fs.read("proc", mounter, "mountinfo")
	if err != nil {
		return Memory{}, false
	}
	for line := range strings.Lines(mounts) {
		mount, ok := parseMount(line)
		if !ok {
			continue
		}
		below, visible := relative(groupIn(groups, mount.version), mount.root)
		if !visible {
			continue
		}
		mount.below = root
		for group := below; ; group = path.Dir(group) {
			memory, ok := fs.group(mount, group)
			if ok && (!limited || memory.Free < tightest.Free) {
				tightest, limited = memory, true
			}
			if group == "/" {
				break
			}
		}
	}
	return tightest, limited
}

// version is the version of a hierarchy.
type version int

const (
	v1 version = 1 + iota
	v2
)

// mount is the mount of a hierarchy that may limit memory.
type mount struct {
	version version
	// root is the group that is mounted, point the mount point, and below the root
	// directory of the process that has it mounted.
	root, point, below string
}

// parseMount parses a line of proc_pid_mountinfo(5). ok is false if it is not a hierarchy
// for memory. A hybrid system has one hierarchy of each version, with the controller in
// one of them: the other one has none of the files.
func parseMount(line string) (m mount, ok bool) {
	head, tail, found := strings.Cut(line, " - ")
	fields, source := strings.Fields(head), strings.Fields(tail)
	if !found || len(fields) < 6 || len(source) < 3 {
		return mount{}, false
	}
	m.root, m.point = unescape(fields[3]), unescape(fields[4])
	switch {
	case source[0] == "cgroup2":
		m.version = v2
	case source[0] == "cgroup" && hasController(source[2]):
		m.version = v1
	default:
		return mount{}, false
	}
	return m, true
}

// hasController reports whether a comma-separated list contains the memory controller.
func hasController(list string) bool { return slices.Contains(strings.Split(list, ","), "memory") }

// unescape decodes the escapes of spaces, tabs, newlines and backslashes in mountinfo.
func unescape(name string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(name)
}

// groupIn returns the group of a process in the hierarchy of a version, from the lines
// hierarchy-ID:controllers:path of proc_pid_cgroup(5); empty if there is none.
func groupIn(groups string, of version) string {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if of == v2 && fields[0] == "0" && fields[1] == "" || of == v1 && hasController(fields[1]) {
			return fields[2]
		}
	}
	return ""
}

// relative returns the path of a group below the mounted one. A group elsewhere is not
// visible, such as one outside our cgroup namespace, whose path begins with /.. .
func relative(group, root string) (below string, visible bool) {
	below, found := strings.CutPrefix(group, strings.TrimSuffix(root, "/"))
	if below == "" {
		below = "/"
	}
	return below, group != "" && found && below == path.Clean(below) && below[0] == '/'
}

// group reads one group. It returns false if the group has no limit or cannot be read.
func (fs files) group(m mount, group string) (Memory, bool) {
	dir := path.Join(m.point, group)
	limits, usage, cache := []string{"memory.max", "memory.high"}, "memory.current", "inactive_file"
	if m.version == v1 {
		limits, usage, cache = []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"
	}
	stat, err := fs.readIn(m.below, dir, "memory.stat")
	if err != nil {
		return Memory{}, false
	}
	// Version 1 reports the lowest limit of this group and those above, which may not be
	// visible. Their usage is at least that of this group.
	limit := value(stat, "hierarchical_memory_limit")
	for _, name := range limits {
		limit = min(limit, fs.number(m.below, dir, name))
	}
	used := fs.number(m.below, dir, usage)
	if limit == unlimited || used == unlimited {
		return Memory{}, false
	}
	reclaimable := value(stat, cache)
	if reclaimable == unlimited {
		reclaimable = 0
	}
	return Memory{Limit: limit, Free: max(0, limit-max(0, used-reclaimable))}, true
}

// unlimited stands for "max", for its equivalent in version 1 (the largest multiple of
// the page size), and for missing values.
const unlimited int64 = 1 << 62

// number reads a file that contains a number of bytes.
func (fs files) number(root, dir, name string) int64 {
	content, err := fs.readIn(root, dir, name)
	if err != nil {
		return unlimited
	}
	return parse(content)
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

func parse(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < 0 {
		return unlimited
	}
	return min(n, unlimited)
}

// readIn reads a file below root, the root directory of another process; empty for this
// process' own. No link that the other process created leads outside of it.
func (fs files) readIn(root, dir, name string) (string, error) {
	if root == "" {
		return fs.read(dir, name)
	}
	f, err := os.OpenInRoot(filepath.Join(string(fs), root), strings.TrimPrefix(path.Join(dir, name), "/"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	const most = 1 << 20
	content, err := io.ReadAll(io.LimitReader(f, most))
	return string(content), err
}

func (fs files) read(names ...string) (string, error) {
	content, err := os.ReadFile(filepath.Join(append([]string{string(fs)}, names...)...))
	return string(content), err
}
