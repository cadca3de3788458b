//go:build linux

package helper

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"banzaicloud.com/jmx-exporter-operator/pkg/helperapi"
	"banzaicloud.com/jmx-exporter-operator/pkg/jvm"
)

// leftoverAge is how long a file must have been unchanged to be removed as a leftover:
// another helper may be at work on it, also one of a container that shares this
// /tmp, whose processes cannot be seen from here.
const leftoverAge = 10 * time.Minute

func (dir *directory) unchanged(name string) bool {
	info, err := dir.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > leftoverAge
}

// sweep removes the leftovers of helpers that were killed, and the desired files
// and locks of processes that are gone. A lock that is held stays. Only for
// an agent directory in which PIDs mean the same as here.
func (dir *directory) sweep() {
	for _, name := range dir.names() {
		switch {
		case !dir.unchanged(name):
		case strings.HasPrefix(name, "."): // a temporary name
			_ = dir.Remove(name) // another helper may have been faster
		case isGone(name):
			dir.discard(name)
		}
	}
}

// isGone reports whether a file belongs to a process that is gone.
func isGone(name string) bool {
	stem, desired := strings.CutSuffix(name, desiredSuffix)
	stem, lock := strings.CutSuffix(stem, lockSuffix)
	pid, start, found := strings.Cut(stem, "-")
	number, err := strconv.Atoi(pid)
	if !desired && !lock || !found || err != nil {
		return false
	}
	alive, err := jvm.StartTime(number)
	return err != nil || strconv.FormatUint(alive, 10) != start
}

// discard removes a file, if it is not a lock that is held.
func (dir *directory) discard(name string) {
	if path.Ext(name) == lockSuffix {
		f, err := dir.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return
		}
		defer f.Close()
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !dir.stillNamed(f, name) {
			return
		}
	}
	_ = dir.Remove(name) // another helper may have been faster
}

// prune removes the shared files that no desired file names, but those to keep:
// every edit of a configuration and every upgrade leaves some.
func (dir *directory) prune(keep ...string) {
	wanted, known := dir.wanted()
	if !known {
		return
	}
	keep = append(keep, wanted...)
	for _, name := range dir.names() {
		if _, shared := helperapi.FileDigest(name); shared && !slices.Contains(keep, name) && dir.unchanged(name) {
			_ = dir.Remove(name) // another helper may have been faster
		}
	}
}

// wanted are the shared files that desired files name. It is not known where one of
// these cannot be read.
func (dir *directory) wanted() (files []string, known bool) {
	for _, name := range dir.names() {
		if path.Ext(name) != desiredSuffix {
			continue
		}
		desired := dir.readPairs(name)
		if desired == nil {
			return nil, false
		}
		files = append(files, path.Base(desired.Get("implementation")), path.Base(desired.Get("config")), path.Base(desired.Get("security")))
	}
	return files, true
}

// abandon removes the agent directory itself once nothing is left in it. Whatever lies there keeps
// it, also what came a moment ago from a helper beside, or from another container
// that shares this /tmp; one that has it open, and nothing in it yet, makes it again.
func (dir *directory) abandon() {
	opened, err := dir.Open(".")
	if err != nil {
		return
	}
	defer opened.Close()
	_ = syscall.Rmdir(fmt.Sprintf("/proc/self/fd/%d/../%s", opened.Fd(), path.Base(helperapi.AgentDirectory))) // only when empty
}

// names lists all entries of the agent directory, or none: who sees only some of the desired
// files would take what the others name for leftovers.
func (dir *directory) names() []string {
	opened, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer opened.Close()
	names, err := opened.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return names
}
