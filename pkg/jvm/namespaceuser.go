//go:build linux

package jvm

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// hidden reports whether the kernel shows what is in a process only to who has CAP_SYS_PTRACE,
// and not to its own user and group (__ptrace_may_access in kernel/ptrace.c, and
// cap_ptrace_access_check in security/commoncap.c): it is in another user namespace, or has
// capabilities that the thread of As lacks, which has none. One that is not dumpable is not
// meant: it does not show itself to its user for a reason of its own.
func (p Process) hidden() bool {
	data, err := readProc(p.PID, "status")
	if err != nil {
		return false
	}
	s, err := parseStatus(data)
	return err == nil && (s.permitted != 0 || p.inUserNamespace())
}

// inUserNamespace reports whether the process is in another user namespace than this one, as
// in pods with hostUsers: false. Everyone may read the maps, unlike the links to namespaces.
func (p Process) inUserNamespace() bool {
	theirs, err := readProc(p.PID, "uid_map")
	if err != nil {
		return false
	}
	ours, err := readProc(os.Getpid(), "uid_map")
	return err == nil && !bytes.Equal(theirs, ours)
}

// RootUID is the user who is root for the process: another one than 0 in a user namespace, and
// -1 where nobody is.
func (p Process) RootUID() int { return outside(p.idMap("uid_map"), 0) }

// IsRoot reports whether a user is root for the process. Where this process attaches from the
// host, that is also root here; on a node, only who is root in the container.
func (p Process) IsRoot(user int) bool { return user == p.RootUID() || user == 0 && !p.OnNode() }

// RootGID is the group 0 of the process.
func (p Process) RootGID() int { return outside(p.idMap("gid_map"), 0) }

// UIDIn and GIDIn are UID and GID as the process itself sees them.
func (p Process) UIDIn() int { return inside(p.idMap("uid_map"), p.UID) }

// GIDIn is described at UIDIn.
func (p Process) GIDIn() int { return inside(p.idMap("gid_map"), p.GID) }

// idRange is a line of user_namespaces(7)'s uid_map: count IDs from inside in the namespace
// are those from outside here.
type idRange struct{ inside, outside, count int }

// idMap reads a map of IDs; nil if the process is not in another namespace, or has exited.
func (p Process) idMap(name string) []idRange {
	data, err := readProc(p.PID, name)
	if err != nil || !p.inUserNamespace() {
		return nil
	}
	var ranges []idRange
	for line := range strings.Lines(string(data)) {
		var r idRange
		fields := strings.Fields(line)
		for i, to := range []*int{&r.inside, &r.outside, &r.count} {
			if i >= len(fields) {
				return nil
			}
			if *to, err = strconv.Atoi(fields[i]); err != nil {
				return nil
			}
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// outside returns the ID here of one in the namespace; -1 if it has none.
func outside(ranges []idRange, id int) int {
	for _, r := range ranges {
		if id >= r.inside && id-r.inside < r.count {
			return r.outside + id - r.inside
		}
	}
	if ranges == nil {
		return id
	}
	return -1
}

// inside returns the ID in the namespace of one here. An ID that has none there is shown as
// the overflow ID (sysctl kernel.overflowuid).
func inside(ranges []idRange, id int) int {
	const overflow = 65534
	for _, r := range ranges {
		if id >= r.outside && id-r.outside < r.count {
			return r.inside + id - r.outside
		}
	}
	if ranges == nil {
		return id
	}
	return overflow
}
