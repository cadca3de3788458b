//go:build linux

package jvm

import (
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// Tmp is a snapshot of a /tmp directory. It determines who may remove or replace the
// files of other users there.
type Tmp struct{ info fs.FileInfo }

// StatTmp returns the Tmp of an open directory.
func StatTmp(root *os.Root) (Tmp, error) {
	info, err := root.Stat(".")
	return Tmp{info}, err
}

// Mode returns the directory's mode.
func (t Tmp) Mode() fs.FileMode { return t.info.Mode() }

// Exposed reports whether any user other than root and the trusted ones may replace the
// files of others: with the sticky bit only the directory's owner may (inode(7)), without
// it anyone who may write to the directory.
func (t Tmp) Exposed(trusted ...int) bool {
	return !t.trusts(t.owner(), trusted) || t.writable(0o022)
}

// Intruders returns the users, other than root and the trusted ones, that have processes
// which may currently replace the files of others in this /tmp: in the container, or with
// the same /tmp. They are ascending and without duplicates.
func (t Tmp) Intruders(in Container, trusted ...int) ([]int, error) {
	if !t.Exposed(trusted...) {
		return nil, nil
	}
	// On a node, other containers do not reach this one, unless they mount its volume.
	pids, err := in.scan() // excludes this process, whose main thread As may have switched to another user
	if err != nil {
		return nil, err
	}
	var users []int
	for _, pid := range pids {
		data, err := readProc(pid, "status")
		if _, gone := StartTime(pid); err != nil || gone != nil { // it has exited
			continue
		}
		s, err := parseStatus(data)
		if err != nil {
			return nil, err
		}
		p := Process{PID: pid, UID: s.uid, GID: s.gid}
		if !t.trusts(s.uid, trusted) && t.admits(s) && t.reachedBy(in, p) {
			users = append(users, s.uid)
		}
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

func (t Tmp) trusts(user int, trusted []int) bool {
	return user == 0 || slices.Contains(trusted, user)
}

// admits reports whether the directory's mode lets a process replace the files of others.
// The owner always may, because it can change the mode.
func (t Tmp) admits(s status) bool {
	group := int(t.info.Sys().(*syscall.Stat_t).Gid)
	member := s.gid == group || slices.Contains(s.groups, group)
	return s.uid == t.owner() || t.writable(0o002) || t.writable(0o020) && member
}

// writable reports whether one of the bits is set and the sticky bit is not.
func (t Tmp) writable(bits fs.FileMode) bool {
	return t.Mode()&fs.ModeSticky == 0 && t.Mode().Perm()&bits != 0
}

func (t Tmp) owner() int { return int(t.info.Sys().(*syscall.Stat_t).Uid) }

// reachedBy reports whether the process can reach this directory: it is in the container,
// or has the directory as its /tmp.
func (t Tmp) reachedBy(in Container, p Process) bool {
	if in.hasGroupsOf(p) {
		return true
	}
	var theirs fs.FileInfo
	err := p.As(func() (err error) {
		theirs, err = os.Stat(procPath(p.PID, "root/tmp"))
		return err
	})
	return err == nil && os.SameFile(theirs, t.info)
}
